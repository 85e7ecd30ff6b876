#include "lab/play/record.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::lab {

namespace {

bool same(const event& one, const event& other) {
    return (one.kind == event_kind::command || one.kind == event_kind::stop) && one.kind == other.kind &&
           one.who == other.who && one.text == other.text && one.reply == other.reply;
}

}  // namespace

std::vector<overlap> overlaps(const record& of) {
    std::vector<overlap> found;
    for (auto one = of.beliefs.begin(); one != of.beliefs.end(); ++one) {
        for (auto other = std::next(one); other != of.beliefs.end(); ++other) {
            const auto from = std::max(one->from, other->from);
            const auto to = std::min(one->to, other->to);
            if (one->who != other->who && from < to) found.push_back({one->who, other->who, from, to});
        }
    }
    std::ranges::sort(found, {}, &overlap::from);
    return found;
}

bool overlapped(const record& of, std::string_view one, std::string_view other) {
    return std::ranges::any_of(overlaps(of), [&](const overlap& seen) {
        return (seen.first == one && seen.second == other) || (seen.first == other && seen.second == one);
    });
}

recorder::recorder(std::string scheme, std::chrono::milliseconds ttl) {
    made_.scheme = std::move(scheme);
    made_.ttl = ttl;
}

void recorder::note(event seen) { made_.events.push_back(std::move(seen)); }

void recorder::believes(const std::string& who, instant at) {
    waits_no_more(who, at);
    believing_.try_emplace(who, at);
}

void recorder::believes_no_more(const std::string& who, instant at, std::optional<instant> until) {
    end(believing_, who, until ? std::min(at, *until) : at, made_.beliefs);
}

void recorder::end(since& of, const std::string& who, instant at, std::vector<span>& into) {
    const auto found = of.find(who);
    if (found == of.end()) return;
    if (found->second < at) into.push_back({who, found->second, at});
    of.erase(found);
}

void recorder::ends(const std::string& who, instant at) {
    believes_no_more(who, at);
    waits_no_more(who, at);
    moves_again(who, at);
}

void recorder::dies(const std::string& who, instant at) {
    ends(who, at);
    made_.deaths.push_back({who, at, at});
}

void recorder::add_place(const std::string& name) {
    made_.places.push_back({name, {}});
    owners_.emplace_back();
}

void recorder::clear_places() {
    made_.places.clear();
    owners_.clear();
}

void recorder::owned_by(std::size_t place, const std::string& who, instant at) {
    auto& now = owners_.at(place);
    if (who == now.who) return;
    if (!now.who.empty() && now.from < at) made_.places[place].owners.push_back({now.who, now.from, at});
    now = {who, at, {}};
}

std::string recorder::owner() const {
    for (const auto& one : owners_) {
        const auto has = std::ranges::count(owners_, one.who, &span::who);
        if (2 * static_cast<std::size_t>(has) > owners_.size()) return one.who;
    }
    return {};
}

record recorder::finish(instant at) {
    for (const auto* const going_on : {&believing_, &waiting_, &still_}) {
        while (!going_on->empty()) ends(std::string{going_on->begin()->first}, at);
    }
    for (std::size_t i = 0; i < owners_.size(); ++i) owned_by(i, "", at);
    made_.end = at;
    std::ranges::stable_sort(made_.beliefs, {}, &span::from);

    std::ranges::stable_sort(made_.events, {}, &event::at);
    std::vector<event> merged;
    for (auto& next : made_.events) {
        // A client that retries alternates between a command and a stop point.
        const auto n = merged.size();
        if (n > 0 && same(merged[n - 1], next)) {
            merged[n - 1].times += next.times;
        } else if (n > 1 && same(merged[n - 2], next) && merged[n - 1].kind == event_kind::stop &&
                   merged[n - 1].who == next.who) {
            merged[n - 2].times += next.times;
        } else {
            merged.push_back(std::move(next));
        }
    }
    made_.events = std::move(merged);
    return std::move(made_);
}

}  // namespace holdfast::lab
