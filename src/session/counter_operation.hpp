// Changes or reads the counter of a semaphore or a latch: one request, resent while it has no answer.
#pragma once

#include "engine/retry_policy.hpp"
#include "session/client_state.hpp"
#include "store/counters.hpp"

#include <holdfast/callback.hpp>

#include <memory>

namespace holdfast::session {

// Blocks for at most config::answer_timeout.
[[nodiscard]] backend::adjust_answer adjust(client_state& c, const backend::adjust_request& what);

// The same without a waiting thread. `done` is called once, on any thread; with unknown if the client ends
// first.
void adjust_later(const std::shared_ptr<client_state>& c, backend::adjust_request what,
                  callback<void(backend::adjust_answer)> done);

}  // namespace holdfast::session
