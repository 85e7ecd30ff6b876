#include "engine/release.hpp"

#include <algorithm>

namespace holdfast::engine {

namespace {

constexpr milliseconds first_pause{20};

}  // namespace

release_action release::begin(time_point now) {
    if (sends_++ == 0) first_sent_ = now;
    return send_release{later(first_sent_, how_.answer_timeout)};
}

release_action release::on_answer(const backend::release_answer& answer, time_point now) {
    if (const auto* done = std::get_if<backend::released>(&answer)) {
        return release_done{{release_outcome::released, {}}, *done, {}};
    }
    if (std::holds_alternative<backend::not_held>(answer)) {
        // "Not held" after an unanswered send is what our own release leaves behind, if the lease was good
        // then.
        const bool our_own_doing = uncertain_ && first_sent_ < how_.believed_until;
        return release_done{
            {our_own_doing ? release_outcome::released : release_outcome::already_lost, {}}, {}, {}};
    }
    if (const auto* no = std::get_if<backend::refused>(&answer)) return no_answer(*no, now);
    uncertain_ = true;
    return no_answer(std::get<backend::unknown>(answer), now);
}

release_action release::on_elapsed(time_point now) {
    uncertain_ = true;
    return no_answer(last_, now);
}

release_action release::no_answer(const backend::failure& why, time_point now) {
    last_ = why;
    const auto again = later(now, first_pause * (1U << std::min(sends_ - 1, 8U)));
    // All sends together wait for one answer_timeout: a caller of unlock() was promised no more.
    if (again >= later(first_sent_, how_.answer_timeout) || why.code == condition::misuse) {
        return release_done{{release_outcome::unknown_until, how_.store_frees_at}, {}, why};
    }
    return retry_release{again};
}

}  // namespace holdfast::engine
