#include "chaos/runner/mode_change_count.hpp"

#include <algorithm>
#include <map>

namespace holdfast::chaos {

namespace {

bool is_grant(const event& e) { return e.action == action::acquire && e.phase == phase::ok; }

// The first and the last event of a client, and its grants.
struct presence_of_client {
    span_of_time span{never, long_ago};
    std::size_t grants = 0;
};

std::map<std::uint32_t, presence_of_client> clients_of(const history& h) {
    std::map<std::uint32_t, presence_of_client> all;
    for (const auto& e : h.events) {
        auto& one = all[e.process];
        one.span = {std::min(one.span.from, e.t), std::max(one.span.to, e.t)};
        one.grants += is_grant(e) ? 1 : 0;
    }
    return all;
}

}  // namespace

void mode_change_count::add(const history& round, std::span<const span_of_time> all, time_ns patient) {
    for (const auto& change : all.subspan(grants_.size()))
        grants_.push_back(static_cast<std::size_t>(std::ranges::count_if(round.events, [&](const event& e) {
            return is_grant(e) && e.t >= change.from && e.t < change.to;
        })));
    for (const auto& [process, here] : clients_of(round))
        if (here.grants == 0 && here.span.to - here.span.from > patient) starved_.push_back(process);
}

std::vector<std::string> mode_change_count::complaints(std::uint64_t epoch) const {
    std::vector<std::string> all;
    if (grants_.size() != wanted_)
        all.push_back("the mode was changed " + std::to_string(grants_.size()) + " times, not " +
                      std::to_string(wanted_));
    if (const auto wanted = 2 * wanted_ + 1; epoch != wanted)
        all.push_back("the arbiter is at epoch " + std::to_string(epoch) + ", not " + std::to_string(wanted));
    for (std::size_t i = 0; i < grants_.size(); ++i)
        if (grants_[i] == 0) all.push_back("nothing was granted in change " + std::to_string(i + 1));
    for (const auto process : starved_)
        all.push_back("client " + std::to_string(process) + " was granted nothing in a round");
    return all;
}

std::string mode_change_count::summary() const {
    if (grants_.empty()) return "no change of the mode";
    const auto [least, most] = std::ranges::minmax(grants_);
    return std::to_string(grants_.size()) + " changes of the mode, " + std::to_string(least) + " to " +
           std::to_string(most) + " grants in each";
}

}  // namespace holdfast::chaos
