#include "redis/sentinel/master_majority.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::redis {

master_majority::master_majority(std::string master, std::vector<host_port> sentinels)
    : master_(std::move(master)), sentinels_(std::move(sentinels)), answers_(sentinels_.size()) {}

void master_majority::await() {
    std::fill(answers_.begin(), answers_.end(), std::nullopt);
    majority_since_.reset();
}

void master_majority::await(std::size_t sentinel) { answers_.at(sentinel).reset(); }

void master_majority::take(std::size_t sentinel, sentinel_reply t, time_point now) {
    answers_.at(sentinel) = std::move(t);
    if (!majority_since_ && number_of(sentinel_reply::what::names) >= majority()) majority_since_ = now;
}

std::size_t master_majority::number_of(sentinel_reply::what kind) const {
    return static_cast<std::size_t>(std::count_if(answers_.begin(), answers_.end(), [&](const auto& answer) {
        return answer && answer->kind == kind;
    }));
}

master_majority::decision master_majority::decide(time_point now) {
    const auto named = number_of(sentinel_reply::what::names);
    const auto missing = static_cast<std::size_t>(std::count(answers_.begin(), answers_.end(), std::nullopt));
    // Each sentinel ends as an answer or as silence, and the decision "none" lists all of them.
    if (named < majority()) return missing > 0 ? decision{decision::what::pending, {}, {}} : none();
    const auto enough = majority_since_.value_or(now) + grace;
    if (missing > 0 && now < enough) return {decision::what::pending, {}, {}, enough};
    return agree();
}

master_majority::decision master_majority::agree() {
    std::vector<const sentinel_reply*> newest;
    for (const auto& answer : answers_) {
        if (!answer || answer->kind != sentinel_reply::what::names) continue;
        if (!newest.empty() && answer->epoch < newest.front()->epoch) continue;
        if (!newest.empty() && answer->epoch > newest.front()->epoch) newest.clear();
        newest.push_back(&*answer);
    }
    const auto votes = [&](const host_port& for_whom) {
        return std::count_if(newest.begin(), newest.end(),
                             [&](const auto* one) { return one->master == for_whom; });
    };
    const auto& best = **std::max_element(newest.begin(), newest.end(), [&](const auto* a, const auto* b) {
        return votes(a->master) < votes(b->master);
    });
    // No failover has settled it, as when sentinels were set up by hand for different servers.
    const bool tie = std::any_of(newest.begin(), newest.end(), [&](const auto* one) {
        return one->master != best.master && votes(one->master) == votes(best.master);
    });
    if (tie) return none();
    const bool backwards = agreed_ && agreed_->master != best.master && best.epoch < agreed_->epoch;
    if (backwards && number_of(sentinel_reply::what::names) < sentinels_.size()) return none();
    if (!agreed_ || backwards || best.epoch >= agreed_->epoch) agreed_ = best;
    return {decision::what::agreed, best.master, {}};
}

master_majority::decision master_majority::none() const {
    using what = connect_failure::what;
    const auto refusal = std::find_if(answers_.begin(), answers_.end(), [](const auto& answer) {
        return answer && answer->kind == sentinel_reply::what::refuses;
    });
    const auto misled = number_of(sentinel_reply::what::refuses) +
                        number_of(sentinel_reply::what::unknown_name) +
                        number_of(sentinel_reply::what::no_sentinel);
    // Even if all others were reachable, the configuration would have to be fixed.
    const bool hopeless = sentinels_.size() - misled < majority();
    const auto code = !hopeless                   ? make_error_code(errc::unavailable)
                      : refusal != answers_.end() ? (*refusal)->why.code
                                                  : make_error_code(errc::invalid_argument);
    const auto named = number_of(sentinel_reply::what::names);
    const auto wanted = std::to_string(majority()) + " of " + std::to_string(sentinels_.size());
    const auto name = "the master \"" + base::printable(master_) + "\"";
    auto text = named >= majority() ? "the sentinels do not agree on " + name
                                    : wanted + " sentinels must name " + name + " and " +
                                          std::to_string(named) + (named == 1 ? " does" : " do");
    const bool not_trusted = hopeless && refusal != answers_.end() && (*refusal)->why.not_trusted;
    return {decision::what::none,
            {},
            {hopeless ? what::refused : what::unreachable, {code, text + answers_text(), not_trusted}}};
}

std::string master_majority::answers_text() const {
    std::string all;
    for (std::size_t i = 0; i < sentinels_.size(); ++i) {
        all += (all.empty() ? ": " : "; ") + address_text(sentinels_[i]);
        if (!answers_[i]) {
            all += " has not answered yet";
            continue;
        }
        const auto& said_so = *answers_[i];
        switch (said_so.kind) {
            case sentinel_reply::what::names:
                all +=
                    " names " + address_text(said_so.master) + " of epoch " + std::to_string(said_so.epoch);
                break;
            case sentinel_reply::what::unknown_name: all += " does not know the name"; break;
            case sentinel_reply::what::refuses: all += " refuses us (" + said_so.why.text + ")"; break;
            case sentinel_reply::what::no_sentinel: all += " is no Sentinel; " + said_so.why.text; break;
            case sentinel_reply::what::silent: all += " is silent (" + said_so.why.text + ")"; break;
        }
    }
    return all;
}

}  // namespace holdfast::redis
