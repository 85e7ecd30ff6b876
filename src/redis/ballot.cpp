#include "redis/ballot.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::redis {

ballot::ballot(std::string master, std::vector<host_port> sentinels)
    : master_(std::move(master)), sentinels_(std::move(sentinels)), answers_(sentinels_.size()) {}

void ballot::open() {
    std::fill(answers_.begin(), answers_.end(), std::nullopt);
    majority_since_.reset();
}

void ballot::open(std::size_t sentinel) { answers_.at(sentinel).reset(); }

void ballot::hear(std::size_t sentinel, testimony t, time_point now) {
    answers_.at(sentinel) = std::move(t);
    if (!majority_since_ && said(testimony::what::names) >= majority()) majority_since_ = now;
}

std::size_t ballot::said(testimony::what kind) const {
    return static_cast<std::size_t>(std::count_if(answers_.begin(), answers_.end(), [&](const auto& answer) {
        return answer && answer->kind == kind;
    }));
}

ballot::verdict ballot::count(time_point now) {
    const auto named = said(testimony::what::names);
    const auto missing = static_cast<std::size_t>(std::count(answers_.begin(), answers_.end(), std::nullopt));
    // Each sentinel ends as an answer or as silence, and the verdict "none" lists all of them.
    if (named < majority()) return missing > 0 ? verdict{verdict::what::open, {}, {}} : none();
    const auto enough = majority_since_.value_or(now) + grace;
    if (missing > 0 && now < enough) return {verdict::what::open, {}, {}, enough};
    return elect();
}

ballot::verdict ballot::elect() {
    std::vector<const testimony*> newest;
    for (const auto& answer : answers_) {
        if (!answer || answer->kind != testimony::what::names) continue;
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
    const bool backwards = elected_ && elected_->master != best.master && best.epoch < elected_->epoch;
    if (backwards && said(testimony::what::names) < sentinels_.size()) return none();
    if (!elected_ || backwards || best.epoch >= elected_->epoch) elected_ = best;
    return {verdict::what::elected, best.master, {}};
}

ballot::verdict ballot::none() const {
    using what = connect_failure::what;
    const auto refusal = std::find_if(answers_.begin(), answers_.end(), [](const auto& answer) {
        return answer && answer->kind == testimony::what::refuses;
    });
    const auto misled = said(testimony::what::refuses) + said(testimony::what::unknown_name) +
                        said(testimony::what::no_sentinel);
    // Even if all others were reachable, the configuration would have to be fixed.
    const bool hopeless = sentinels_.size() - misled < majority();
    const auto code = !hopeless                   ? make_error_code(errc::unavailable)
                      : refusal != answers_.end() ? (*refusal)->why.code
                                                  : make_error_code(errc::invalid_argument);
    const auto named = said(testimony::what::names);
    const auto wanted = std::to_string(majority()) + " of " + std::to_string(sentinels_.size());
    const auto name = "the master \"" + base::printable(master_) + "\"";
    auto text = named >= majority() ? "the sentinels do not agree on " + name
                                    : wanted + " sentinels must name " + name + " and " +
                                          std::to_string(named) + (named == 1 ? " does" : " do");
    const bool not_trusted = hopeless && refusal != answers_.end() && (*refusal)->why.not_trusted;
    return {verdict::what::none,
            {},
            {hopeless ? what::refused : what::unreachable, {code, text + answers_text(), not_trusted}}};
}

std::string ballot::answers_text() const {
    std::string all;
    for (std::size_t i = 0; i < sentinels_.size(); ++i) {
        all += (all.empty() ? ": " : "; ") + address_text(sentinels_[i]);
        if (!answers_[i]) {
            all += " has not answered yet";
            continue;
        }
        const auto& said_so = *answers_[i];
        switch (said_so.kind) {
            case testimony::what::names:
                all +=
                    " names " + address_text(said_so.master) + " of epoch " + std::to_string(said_so.epoch);
                break;
            case testimony::what::unknown_name: all += " does not know the name"; break;
            case testimony::what::refuses: all += " refuses us (" + said_so.why.text + ")"; break;
            case testimony::what::no_sentinel: all += " is no Sentinel; " + said_so.why.text; break;
            case testimony::what::silent: all += " is silent (" + said_so.why.text + ")"; break;
        }
    }
    return all;
}

}  // namespace holdfast::redis
