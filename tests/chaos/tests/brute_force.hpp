// Judges a small history by trying every order of what happened in it (Wing and Gong): slow, but simple
// enough to be trusted.
#pragma once

#include "chaos/checker/attempt.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_set>
#include <vector>

namespace holdfast::chaos {

class brute_force {
  public:
    brute_force(const std::vector<attempt>& attempts, const lock_row& lock) : lock_(lock) {
        std::map<std::uint64_t, std::size_t> place;
        for (const auto& a : attempts) {
            if (!a.held()) continue;
            place[a.id] = holds_.size();
            const bool nested = a.outer != 0;
            const bool known = nested && place.contains(a.outer);
            holds_.push_back({&a, known ? holds_[place[a.outer]].owner : holds_.size(), nested});
        }
        for (std::size_t h = 0; h < holds_.size(); ++h) {
            const auto& a = *holds_[h].of;
            // All holds of an owner share its lease.
            time_ns believed = a.believed;
            for (const auto& other : holds_) {
                if (other.owner == holds_[h].owner) believed = std::max(believed, other.of->believed);
            }
            const auto to = std::min(a.release_begun, believed);
            const bool in_time = lock.model == model::reentrant && a.release_begun <= believed;
            steps_.push_back({a.asked, std::min(a.answered, to), h, true});
            steps_.push_back({to, in_time ? a.release_answered : never, h, false});
        }
    }

    // Whether the model allows an order of all beginnings and ends that contradicts no time.
    [[nodiscard]] bool explainable() { return explain(0); }
    // The same for the beginnings alone, if each must have a greater fence than all before it.
    [[nodiscard]] bool fences_explainable() {
        std::erase_if(steps_, [](const step& s) { return !s.begins; });
        by_fence_ = true;
        return explain(0);
    }

  private:
    struct held {
        const attempt* of;
        std::size_t owner;  // index of the outermost
        bool nested;
    };
    struct step {
        time_ns earliest, latest;
        std::size_t hold;
        bool begins;
    };

    bool explain(std::uint64_t done) {
        if (done == (std::uint64_t{1} << steps_.size()) - 1) return true;
        if (!dead_ends_.insert(done).second) return false;
        time_ns first_limit = never;
        for (std::size_t s = 0; s < steps_.size(); ++s) {
            if ((done >> s & 1U) == 0) first_limit = std::min(first_limit, steps_[s].latest);
        }
        for (std::size_t s = 0; s < steps_.size(); ++s) {
            const bool possible =
                (done >> s & 1U) == 0 && steps_[s].earliest <= first_limit && allowed(done, steps_[s]);
            if (possible && explain(done | std::uint64_t{1} << s)) return true;
        }
        return false;
    }

    [[nodiscard]] std::vector<const held*> inside(std::uint64_t done) const {
        std::vector<bool> in(holds_.size());
        for (std::size_t s = 0; s < steps_.size(); ++s) {
            if (done >> s & 1U) in[steps_[s].hold] = steps_[s].begins && !ended(done, steps_[s].hold);
        }
        std::vector<const held*> all;
        for (std::size_t h = 0; h < holds_.size(); ++h) {
            if (in[h]) all.push_back(&holds_[h]);
        }
        return all;
    }
    [[nodiscard]] bool ended(std::uint64_t done, std::size_t hold) const {
        for (std::size_t s = 0; s < steps_.size(); ++s) {
            if ((done >> s & 1U) != 0 && steps_[s].hold == hold && !steps_[s].begins) return true;
        }
        return false;
    }

    [[nodiscard]] bool allowed(std::uint64_t done, const step& s) const {
        const auto& h = holds_[s.hold];
        if (by_fence_) {
            for (std::size_t other = 0; other < steps_.size(); ++other) {
                if ((done >> other & 1U) != 0 && holds_[steps_[other].hold].of->fence >= h.of->fence)
                    return false;
            }
            return true;
        }
        const auto in = inside(done);
        if (!s.begins) return std::find(in.begin(), in.end(), &h) != in.end();
        switch (lock_.model) {
            case model::exclusive: return in.empty();
            case model::reentrant: {
                if (!h.nested) return in.empty() && h.of->depth == 1;
                const auto& root = *holds_[h.owner].of;
                return &root != h.of && !in.empty() && in.front()->owner == h.owner &&
                       h.of->depth == in.size() + 1 && h.of->fence == root.fence && h.of->token == root.token;
            }
            case model::shared:
                return std::all_of(in.begin(), in.end(), [&](const held* other) {
                    return h.of->side == side::reader && other->of->side == side::reader;
                });
            case model::counted: {
                std::uint64_t out = h.of->permits;
                for (const auto* other : in) out += other->of->permits;
                return out <= lock_.permits;
            }
            case model::latch: break;  // see latch_histories.hpp
        }
        return false;
    }

    lock_row lock_;
    std::vector<held> holds_;
    std::vector<step> steps_;
    std::unordered_set<std::uint64_t> dead_ends_;
    bool by_fence_ = false;
};

}  // namespace holdfast::chaos
