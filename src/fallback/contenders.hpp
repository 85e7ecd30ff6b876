// The owners that ask for or hold locks under a policy that fails open, and what they have where.
#pragma once

#include "base/annotations.hpp"
#include "store/requests.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::fallback {

using backend::lock_key;
using backend::time_point;

// An owner, from its first attempt until it is released or its time is over.
struct contender {
    contender(lock_key k, owner_id o, owner_id t)
        : key(std::move(k)), owner(std::move(o)), there(std::move(t)) {}

    const lock_key key;
    const owner_id owner;  // in the main store
    const owner_id there;  // in the substitute

    // Guarded by the mutex of `contenders`.
    time_point until{};        // the substitute keeps the lock for so long
    std::uint64_t rounds = 0;  // attempts so far; only the latest may change what follows
    unsigned open_rounds = 0;  // of them, those without an answer
    bool asked = false;        // one was sent to the main store
    bool waived = false;       // granted without the main store
    time_point waived_at{};    // then
    bool gone = false;         // released, or its time is over: what is granted to it from now on is released
    owner_id restored{};       // with `waived`: the owner that asks, or was granted, in the main store since
    bool is_restored = false;
    bool asks_again = false;  // that owner's attempt is under way
    bool overlaps = false;    // and its last answer was that another client has the lock
};

// Thread-safe.
class contenders {
  public:
    using one = std::shared_ptr<contender>;

    // The owner's entry; made if there is none. It lives until `until` at least.
    one enter(const lock_key& key, const owner_id& owner, time_point until,
              const std::function<owner_id()>& name_there) {
        const base::guard lock(mutex_);
        auto& c = all_[owner.str()];
        if (!c) c = std::make_shared<contender>(key, owner, name_there());
        c->until = std::max(c->until, until);
        return c;
    }
    [[nodiscard]] one find(const owner_id& owner) {
        const base::guard lock(mutex_);
        const auto c = all_.find(owner.str());
        return c == all_.end() ? nullptr : c->second;
    }
    // Removes it and marks it as gone. False: another call did.
    bool leave(const one& c) {
        const base::guard lock(mutex_);
        return remove(c);
    }
    // The same, unless the owner has asked again since the attempt of this number.
    bool leave_after(const one& c, std::uint64_t number) {
        const base::guard lock(mutex_);
        return c->rounds == number && remove(c);
    }
    // Calls `f` under the mutex.
    template <class F>
    auto with(const F& f) {
        const base::guard lock(mutex_);
        return f();
    }
    // All whose time is over; they are gone then.
    [[nodiscard]] std::vector<one> take_over(time_point now) {
        const base::guard lock(mutex_);
        std::vector<one> over;
        for (auto i = all_.begin(); i != all_.end();) {
            if (i->second->until > now) {
                ++i;
                continue;
            }
            i->second->gone = true;
            over.push_back(std::move(i->second));
            i = all_.erase(i);
        }
        return over;
    }
    // Those that hold a lock without the main store since `before`, and do not ask for it now. The reader
    // that a writer has become beside itself has to wait until the writer is gone: it would meet him there.
    [[nodiscard]] std::vector<one> to_restore(time_point before) {
        const base::guard lock(mutex_);
        std::set<lock_name> writers;
        for (const auto& [owner, c] : all_)
            if (c->waived && c->key.of == kind::shared_write) writers.insert(c->key.name);
        std::vector<one> found;
        for (const auto& [owner, c] : all_) {
            const bool beside_itself = c->key.of == kind::shared_read && writers.contains(c->key.name);
            if (c->waived && c->waived_at <= before && !c->is_restored && !c->asks_again && !beside_itself)
                found.push_back(c);
        }
        return found;
    }
    [[nodiscard]] bool any() {
        const base::guard lock(mutex_);
        return !all_.empty();
    }
    [[nodiscard]] std::vector<one> all() {
        const base::guard lock(mutex_);
        std::vector<one> found;
        for (const auto& [owner, c] : all_) found.push_back(c);
        return found;
    }

  private:
    bool remove(const one& c) REQUIRES(mutex_) {
        if (std::exchange(c->gone, true)) return false;
        if (const auto at = all_.find(c->owner.str()); at != all_.end() && at->second == c) all_.erase(at);
        return true;
    }

    base::mutex mutex_;
    std::unordered_map<std::string, one> all_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::fallback
