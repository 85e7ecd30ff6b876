#include "backends/sql/request_effects.hpp"

#include "backends/sql/polling.hpp"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace holdfast::sql_backend {

namespace {

using namespace backend;

// A crash may take back that a client stands in the queue, or that a lock is free: then the client asks
// again, and the lease ends in time. But nobody asks again for a client that has left the queue.
bool must_last(const attempt_request&, const attempt_answer& a) { return std::holds_alternative<granted>(a); }
bool must_last(const renew_request&, const renew_answer&) { return true; }
bool must_last(const release_request& r, const release_answer&) { return r.undo; }
bool must_last(const adjust_request&, const adjust_answer&) { return true; }

// An attempt that only looks leaves no trace: it does not tidy up either.
bool is_needless(const attempt_request& r, const attempt_answer& a) {
    return r.want == intent::look && !std::holds_alternative<granted>(a);
}
template <class Request, class Answer>
bool is_needless(const Request&, const Answer&) {
    return false;
}

bool is_busy(const attempt_answer& a) { return std::holds_alternative<busy>(a); }
template <class Answer>
bool is_busy(const Answer&) {
    return false;
}

// An attempt that was given up may still be on its way.
bool writes_anyway(const release_request& r, const release_answer& a) {
    return r.undo && std::holds_alternative<not_held>(a);
}
// Also if an earlier request has granted it: its commit can be read although it still waits for a replica.
bool writes_anyway(const attempt_request&, const attempt_answer& a) {
    return std::holds_alternative<granted>(a);
}
bool writes_anyway(const renew_request&, const renew_answer& a) { return std::holds_alternative<renewed>(a); }
template <class Request, class Answer>
bool writes_anyway(const Request&, const Answer&) {
    return false;
}

// The waiter keeps its place without a write: it will ask again long before it is forgotten.
bool keeps_its_place(const engine::lock_record& r, const attempt_request& q, engine::store_time now) {
    const auto* const place = q.want == intent::queue ? place_of(r, q.owner) : nullptr;
    return place != nullptr && place->forgotten_at - now > engine::line_patience / 2;
}
template <class Request>
bool keeps_its_place(const engine::lock_record&, const Request&, engine::store_time) {
    return false;
}

}  // namespace

template <class Request>
effect apply_to(engine::lock_record& r, const engine::circumstances& c, const Request& request,
                std::optional<answer_to<Request>>& answer) {
    const bool stays = keeps_its_place(r, request, c.now);
    auto done = engine::apply(r, request, c);
    const bool lasts = must_last(request, done.answer) || !done.notify.handed.empty();
    const bool needless = (is_needless(request, done.answer) || (stays && is_busy(done.answer))) &&
                          done.notify.handed.empty() && !done.notify.all;
    const bool again = writes_anyway(request, done.answer);
    answer = std::move(done.answer);
    return {std::move(done.notify), lasts, needless, again};
}

template <class Request>
void ask_again_soon(dialect::wake wakes, const engine::lock_record& r, const Request& q,
                    engine::store_time now, answer_to<Request>& answer) {
    if constexpr (std::is_same_v<Request, attempt_request>) {
        auto* const no = std::get_if<busy>(&answer);
        if (wakes == dialect::wake::by_polling && no != nullptr && q.want == intent::queue && no->look_again)
            no->look_again = std::min(*no->look_again, pause_of(r, q.owner, now));
    }
}

template effect apply_to(engine::lock_record&, const engine::circumstances&, const attempt_request&,
                         std::optional<attempt_answer>&);
template effect apply_to(engine::lock_record&, const engine::circumstances&, const renew_request&,
                         std::optional<renew_answer>&);
template effect apply_to(engine::lock_record&, const engine::circumstances&, const release_request&,
                         std::optional<release_answer>&);
template effect apply_to(engine::lock_record&, const engine::circumstances&, const adjust_request&,
                         std::optional<adjust_answer>&);

template void ask_again_soon(dialect::wake, const engine::lock_record&, const attempt_request&,
                             engine::store_time, attempt_answer&);
template void ask_again_soon(dialect::wake, const engine::lock_record&, const renew_request&,
                             engine::store_time, renew_answer&);
template void ask_again_soon(dialect::wake, const engine::lock_record&, const release_request&,
                             engine::store_time, release_answer&);
template void ask_again_soon(dialect::wake, const engine::lock_record&, const adjust_request&,
                             engine::store_time, adjust_answer&);

}  // namespace holdfast::sql_backend
