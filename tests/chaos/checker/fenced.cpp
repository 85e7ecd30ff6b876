#include "chaos/checker/models.hpp"

#include <algorithm>
#include <unordered_map>

namespace holdfast::chaos {

violations check_fences(std::span<const attempt> attempts, std::uint64_t before) {
    violations found;
    std::vector<const attempt*> asked;  // by request
    for (const auto& a : attempts) {
        if (a.held()) asked.push_back(&a);
    }
    auto granted = asked;  // by answer
    std::sort(granted.begin(), granted.end(),
              [](const attempt* a, const attempt* b) { return a->answered < b->answered; });
    std::unordered_map<std::uint64_t, const attempt*> known;
    known.reserve(asked.size());
    const attempt* newest = nullptr;  // has the greatest fence of all grants before the present request
    auto next = granted.begin();
    for (const auto* a : asked) {
        for (; next != granted.end() && (*next)->answered < a->asked; ++next) {
            if (newest == nullptr || (*next)->fence > newest->fence) newest = *next;
        }
        const auto add = [&](const std::string& text, std::vector<std::uint64_t> holds) {
            found.push_back({"fence", text, a->lock, std::move(holds), a->answered});
        };
        if (a->fence == 0) add("a grant of a fenced lock has no fence", {a->id});
        if (a->fence <= before) add("a fence is not greater than those of earlier rounds", {a->id});
        if (newest != nullptr && newest->fence > a->fence)
            add("a later grant has a smaller fence", {newest->id, a->id});
        if (const auto [it, fresh] = known.emplace(a->fence, a); !fresh)
            add("two grants have the same fence", {it->second->id, a->id});
    }
    return found;
}

}  // namespace holdfast::chaos
