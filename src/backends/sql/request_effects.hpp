// What a request does to the record of its lock, and whether that has to be written.
#pragma once

#include "backends/sql/change.hpp"
#include "backends/sql/dialect.hpp"
#include "engine/kinds.hpp"
#include "engine/lock_record.hpp"

#include <optional>
#include <utility>

namespace holdfast::sql_backend {

template <class Request>
using answer_to = decltype(engine::apply(std::declval<engine::lock_record&>(), std::declval<const Request&>(),
                                         std::declval<const engine::circumstances&>())
                               .answer);

// Applies an attempt, a renewal, a release or an adjustment.
template <class Request>
effect apply_to(engine::lock_record& r, const engine::circumstances& c, const Request& request,
                std::optional<answer_to<Request>>& answer);

// Where nothing wakes the waiter, its answer says when it asks again.
template <class Request>
void ask_again_soon(dialect::wake wakes, const engine::lock_record& r, const Request& q,
                    engine::store_time now, answer_to<Request>& answer);

}  // namespace holdfast::sql_backend
