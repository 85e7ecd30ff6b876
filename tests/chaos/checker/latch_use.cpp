#include "chaos/checker/latch_use.hpp"

#include <algorithm>
#include <unordered_map>

namespace holdfast::chaos {

std::vector<latch_use> uses_of(std::span<const event> events, std::span<const span_of_time> forgetting) {
    std::vector<latch_use> all;
    std::unordered_map<std::uint64_t, std::size_t> place;
    for (const auto& e : events) {
        if (e.phase == phase::invoke) {
            place.emplace(e.hold, all.size());
            all.push_back({e.hold, e.process, e.lock, e.action, e.count, e.wait, e.t});
        } else if (const auto it = place.find(e.hold); it != place.end()) {
            auto& u = all[it->second];
            u.answered = e.t;
            u.answer = e.phase;
            u.reported = e.count;
        }
    }
    std::erase_if(all, [](const latch_use& u) { return u.answer == phase::fail; });
    for (auto& u : all) {
        const bool forgotten = std::any_of(forgetting.begin(), forgetting.end(), [&](const span_of_time& f) {
            return u.asked <= f.to && u.answered >= f.from;
        });
        if (forgotten && u.has_answer()) u.answer = phase::info;
    }
    return all;
}

std::optional<std::int64_t> count_after(const latch_use& u, std::int64_t count) {
    const bool any = !u.has_answer();
    const bool yes = u.answer == phase::ok;
    switch (u.what) {
        case action::set:
            if (!any && yes != (count == 0)) return std::nullopt;
            return count == 0 ? u.amount : count;
        case action::down: {
            const auto left = std::max<std::int64_t>(count - u.amount, 0);
            if (!any && left != u.reported) return std::nullopt;
            return left;
        }
        case action::erase:
            if (!any && yes != (count > 0)) return std::nullopt;
            return 0;
        case action::read:
            if (!any && count != u.reported) return std::nullopt;
            return count;
        // A wait that timed out shows nothing: another thread may have asked for it, or it was late.
        case action::wait:
            if (yes && count != 0) return std::nullopt;
            return count;
        default: return std::nullopt;
    }
}

}  // namespace holdfast::chaos
