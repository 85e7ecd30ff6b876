// The owners that ask for or hold locks of a joint store, and what each has in which level.
#pragma once

#include "backends/joint/mode.hpp"
#include "store/requests.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::joint_backend {

using backend::lock_key;

// What an owner has in one level. It is another owner there; a new one each time that it asks anew after a
// release, which may still be on its way.
struct part {
    enum class state {
        none,
        asked,  // has it, waits for it, or an answer is missing
        held,
    } is = state::none;
    owner_id owner;
    bool uncertain = false;  // an answer is missing
};

// An owner, from its first attempt until it is released or its time is over. Guarded by the mutex of the
// store's core.
//
//   granted  set with the answer to an attempt; cleared by the next attempt: the client did not take it
//   moves    set when the mode needs a level that it lacks; cleared when it has all, or never will
//   over     set when the client has ended its lease and still keeps the lock; cleared by the next attempt
//   gone     set by its release, or when its time is over; never cleared
struct hold {
    hold(lock_key k, owner_id o, std::size_t levels)
        : key(std::move(k)), owner(std::move(o)), parts(levels) {}

    const lock_key key;
    const owner_id owner;
    std::vector<part> parts;              // one for each level
    milliseconds lease{0};                // the longest that was asked for
    std::uint32_t permits = 1;            // of a semaphore
    std::optional<std::int64_t> total{};  // likewise
    time_point until{};                   // a lease may be valid until then, or the owner still waits
    std::uint64_t rounds = 0;             // attempts so far; only the latest may change what follows
    unsigned open = 0;                    // of them, those without an answer
    bool granted = false;
    bool gone = false;        // released, or its time is over
    bool moves = false;       // takes a level that the mode needs now
    bool over = false;        // its lease has ended, but its client still keeps the lock
    bool named = false;       // has asked in the first level with its own name
    time_point kept_until{};  // it was ended early, and its holder may still rely on the deadline it knows
    std::shared_ptr<const backend::bound> under;  // with `granted`
    std::weak_ptr<void> watched;                  // while it waits for messages

    // Owners are named for the number of permits that they ask for.
    void wants(std::uint32_t number, std::optional<std::int64_t> of) {
        if (number != std::exchange(permits, number))
            for (auto& p : parts)
                if (p.is == part::state::none && p.owner != owner) p = {};
        total = of;
    }
    [[nodiscard]] bool holds_all(const needed_levels& needed) const {
        return std::ranges::all_of(needed, [&](auto i) { return parts[i].is == part::state::held; });
    }
    // A lease of it may be valid, or become so.
    [[nodiscard]] bool counts(time_point now) const {
        return granted && !gone && !over && until > now && under && under->until() > now;
    }
};

using hold_ptr = std::shared_ptr<hold>;

// Not thread-safe.
class holds {
  public:
    [[nodiscard]] hold_ptr find(const owner_id& owner) const {
        const auto at = all_.find(owner.str());
        return at == all_.end() ? nullptr : at->second;
    }
    hold_ptr enter(const lock_key& key, const owner_id& owner, std::size_t levels) {
        auto& h = all_[owner.str()];
        if (!h) h = std::make_shared<hold>(key, owner, levels);
        return h;
    }
    void remove(const hold_ptr& h) {
        if (const auto at = all_.find(h->owner.str()); at != all_.end() && at->second == h) all_.erase(at);
    }
    [[nodiscard]] std::vector<hold_ptr> all() const {
        std::vector<hold_ptr> found;
        found.reserve(all_.size());
        for (const auto& [owner, h] : all_) found.push_back(h);
        return found;
    }

  private:
    std::unordered_map<std::string, hold_ptr> all_;
};

}  // namespace holdfast::joint_backend
