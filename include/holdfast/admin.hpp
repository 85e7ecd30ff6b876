// Looking at locks and taking them away: for operators and their tools.
#pragma once

#include <holdfast/backend.hpp>
#include <holdfast/client.hpp>
#include <holdfast/examination.hpp>
#include <holdfast/export.hpp>

#include <optional>
#include <string>
#include <vector>

namespace holdfast {

using backend::holder_info;
using backend::lock_info;
using backend::waiter_info;

// Every call blocks for a few round trips, at most config::answer_timeout each, and throws holdfast::error.

// Who holds and who waits. A name that nobody holds gives a lock_info with layout "free".
[[nodiscard]] HOLDFAST_API lock_info inspect(client& on, const lock_name& name);

// Locks whose names match a glob ('*', '?'), in no order, without queues. Does not hold up the server (SCAN).
[[nodiscard]] HOLDFAST_API std::vector<lock_info> list(client& on, const std::string& glob = "*");

// Takes the lock from whoever holds it and passes it to the next waiter. The holder is told where the
// store can, at the latest when it renews: until then two may believe to hold it. True if somebody held it.
// Of a semaphore all permits with an owner come back; a number without any is errc::wrong_kind.
HOLDFAST_API bool evict(client& on, const lock_name& name);

struct examine_options {
    std::optional<lock_name> name;  // also look up the user's rights to the keys and channels of this lock
    std::optional<backend::kind> kind;  // of that lock; else those of a mutex count, and others are mentioned
};

// What endangers locks on this client's servers, how to mend it, and which promise falls without it; all
// there is to look at, also what is well. Changes nothing on the server (docs/doctor.md says what it is
// asked). What a server refuses to tell is a finding and no error; errors are of a server that cannot be
// asked at all.
[[nodiscard]] HOLDFAST_API examination examine(client& on, const examine_options& options = {});

}  // namespace holdfast
