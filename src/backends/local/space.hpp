// The keys of a local store: what a server would keep. Shared by all clients that name the same space.
#pragma once

#include "base/annotations.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace holdfast::local_backend {

using backend::time_point;
using std::chrono::milliseconds;
using watch_handler = backend::handler<backend::watch_event>;

// Thread-safe. Each member does its work at one instant, as a script on a server does, and calls watch
// handlers after it.
class space {
  public:
    [[nodiscard]] static std::shared_ptr<space> named(const std::string& name);

    backend::attempt_answer attempt(const backend::attempt_request& r);
    backend::renew_answer renew(const backend::renew_request& r);
    backend::release_answer release(const backend::release_request& r);
    backend::lock_info inspect(const lock_name& name);
    std::vector<backend::lock_info> list(const std::string& glob);
    // The owner that held it; empty if nobody did.
    owner_id evict(const lock_name& name);

    void watch(const backend::lock_key& key, const owner_id& owner,
               const std::shared_ptr<watch_handler>& tell);
    void unwatch(const owner_id& owner);

  private:
    struct waiter {
        owner_id owner;
        std::uint64_t ticket;
        time_point since;
        time_point forgotten_at;  // unless it asks again
    };
    struct slot {
        backend::kind of;
        owner_id owner;
        std::uint32_t holds = 1;
        time_point expires;
        std::deque<waiter> queue;
        std::uint64_t last_fence = 0;

        [[nodiscard]] bool held(time_point now) const { return !owner.empty() && expires > now; }
    };
    struct watcher {
        backend::lock_key key;
        std::shared_ptr<watch_handler> tell;
    };
    using calls = std::vector<std::function<void()>>;

    // Passes a free lock to the first in line that still listens, or to nobody. True if to somebody.
    bool pass(slot& s, calls& after) REQUIRES(mutex_);
    void forget_if_idle(const lock_name& name) REQUIRES(mutex_);
    backend::lock_info describe(const lock_name& name, const slot& s, time_point now) const REQUIRES(mutex_);

    base::mutex mutex_;
    std::map<lock_name, slot> slots_ GUARDED_BY(mutex_);
    std::map<owner_id, watcher> watchers_ GUARDED_BY(mutex_);
    std::uint64_t next_ticket_ GUARDED_BY(mutex_) = 1;
    std::uint64_t next_fence_ GUARDED_BY(mutex_) = 16;
};

}  // namespace holdfast::local_backend
