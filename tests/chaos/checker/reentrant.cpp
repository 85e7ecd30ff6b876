#include "chaos/checker/models.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace holdfast::chaos {

namespace {

struct owner {
    std::size_t root;                   // in `folded`
    std::vector<const attempt*> holds;  // granted, by the time of the grant
};

// The number of other holds when this one was granted: the least and the most, since events of the same
// time may have been in any order.
std::pair<std::size_t, std::size_t> other_holds(const attempt& one,
                                                const std::vector<const attempt*>& holds) {
    const auto when = one.answered;
    std::size_t least = 0, most = 0;
    for (const auto* a : holds) {
        if (a == &one) continue;
        least += a->answered < when && a->release_begun > when ? 1 : 0;
        most += a->answered <= when && a->release_begun >= when ? 1 : 0;
    }
    return {least, most};
}

void check_owner(const owner& o, violations& found) {
    const attempt& root = *o.holds.front();
    for (const auto* a : o.holds) {
        const auto wrong = [&](std::string_view rule, const std::string& text) {
            found.push_back({rule, text, a->lock, {root.id, a->id}, a->answered});
        };
        const auto [least, most] = other_holds(*a, o.holds);
        if (a->depth < least + 1 || a->depth > most + 1)
            wrong("depth", "a hold reports depth " + std::to_string(a->depth) + ", and its owner has " +
                               std::to_string(most + 1) + " holds");
        if (a != &root && most == 0)
            wrong("nested_in_nothing", "a nested hold was granted after its owner had released all holds");
        if (a->fence != root.fence)
            wrong("nested_fence", "a nested hold has another fence than the outermost");
        if (a->token != root.token)
            wrong("nested_token", "a nested hold has another owner token than the outermost");
    }
}

}  // namespace

violations check_nesting(std::span<const attempt> attempts, std::vector<attempt>& folded) {
    violations found;
    std::vector<owner> owners;
    std::unordered_map<std::uint64_t, std::size_t> owner_of;  // by hold
    for (const auto& a : attempts) {
        if (a.outer == 0) {
            if (a.held()) {
                owner_of[a.id] = owners.size();
                owners.push_back({folded.size(), {&a}});
            }
            folded.push_back(a);
            continue;
        }
        if (!a.held()) continue;
        const auto it = owner_of.find(a.outer);
        if (it == owner_of.end()) {
            found.push_back({"nested_in_nothing",
                             "a nested hold was granted outside of any hold",
                             a.lock,
                             {a.outer, a.id},
                             a.answered});
            continue;
        }
        owners[it->second].holds.push_back(&a);
        owner_of[a.id] = it->second;
    }
    for (auto& o : owners) {
        std::sort(o.holds.begin() + 1, o.holds.end(),
                  [](const attempt* a, const attempt* b) { return a->answered < b->answered; });
        check_owner(o, found);
        attempt& whole = folded[o.root];
        for (const auto* a : o.holds) {
            if (a->release_begun > whole.release_begun || a == o.holds.front()) {
                whole.release_begun = a->release_begun;
                whole.release_answered = a->release_answered;
                whole.release = a->release;
            }
            whole.believed = std::max(whole.believed, a->believed);
        }
    }
    return found;
}

}  // namespace holdfast::chaos
