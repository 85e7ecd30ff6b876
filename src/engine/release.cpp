#include "engine/release.hpp"

namespace holdfast::engine {

release_action release::begin(time_point now) { return send_release{retry_.on_sent(now)}; }

release_action release::on_answer(const backend::release_answer& answer, time_point now) {
    if (const auto* done = std::get_if<backend::released>(&answer)) {
        return release_done{{release_outcome::released, {}}, *done, {}};
    }
    if (std::holds_alternative<backend::not_held>(answer)) {
        // After an unanswered send, "not held" is the effect of our own release, if the lease was valid at
        // that send.
        const bool our_own_doing = uncertain_ && retry_.first_sent() < how_.believed_until;
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
    const auto again = retry_.next_send(now);
    if (!again || why.code == condition::misuse) {
        release_done end;
        end.result.outcome = release_outcome::unknown_until;
        end.reason = why;
        return end;
    }
    return retry_release{*again};
}

}  // namespace holdfast::engine
