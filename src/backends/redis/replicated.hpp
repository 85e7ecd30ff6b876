// A grant that the replicas are to have before it is told.
#pragma once

#include "backends/redis/layout.hpp"
#include "store/requests.hpp"

namespace holdfast::redis_backend {

// Wraps the handler of an attempt that asks for replicas. A grant is renewed at once, so that the replicas'
// word is about the whole lease, and told with the number of those that have it. Whatever else comes of that,
// it stays a grant that nobody can rely on: unknown. The database and the layout outlive the handler.
[[nodiscard]] handler<backend::attempt_answer> once_replicated(redis::database&, const layout&,
                                                               const backend::attempt_request&,
                                                               time_point deadline,
                                                               handler<backend::attempt_answer> done);

}  // namespace holdfast::redis_backend
