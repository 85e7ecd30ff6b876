// Looking at locks and taking them away: for operators and their tools.
#pragma once

#include <holdfast/backend.hpp>
#include <holdfast/client.hpp>
#include <holdfast/export.hpp>

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

}  // namespace holdfast
