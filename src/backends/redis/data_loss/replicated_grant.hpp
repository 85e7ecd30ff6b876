// Waits for the replicas to receive a grant before the client learns of it.
#pragma once

#include "backends/redis/kinds/lock_protocol.hpp"
#include "store/requests.hpp"

namespace holdfast::redis_backend {

// Wraps the handler of an attempt that asks for replicas. It renews a grant at once, so that the replicas
// confirm the whole lease, and reports the grant with the number of replicas that have it. If the renewal
// fails in any way, the grant is not reliable and the answer is unknown. The database and the protocol
// outlive the handler.
[[nodiscard]] handler<backend::attempt_answer> once_replicated(redis::database&, const lock_protocol&,
                                                               const backend::attempt_request&,
                                                               time_point deadline,
                                                               handler<backend::attempt_answer> done);

}  // namespace holdfast::redis_backend
