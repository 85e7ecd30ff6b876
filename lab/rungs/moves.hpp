// Steps that several schedules share.
#pragma once

#include "lab/play/director.hpp"
#include "lab/play/protocol.hpp"

namespace holdfast::lab {

// B asks once. True: B has the lock, and A believes that it has it, too. Throws too_slow if A's TTL has
// passed since it asked: then the answer, whatever it is, is about a lock that may be free.
[[nodiscard]] bool gets_in_too(director& d, process& b, const process& a, boot_clock::time_point a_asked);

// A is gone and its key is there: B wants the lock. True: B starves.
[[nodiscard]] bool b_starves(director& d);

// B holds the lock, and its TTL has not ended: C wants it too. True: C gets it.
[[nodiscard]] bool c_gets_in_too(director& d, process& b, boot_clock::time_point b_holds_until);

// A checks its lease and stands still; B gets the lock and writes; A writes. True: A's write replaced B's.
[[nodiscard]] bool a_writes_after_its_check(director& d);

}  // namespace holdfast::lab
