// The keys of a local store: what a server would keep. Shared by all clients that name the same space.
#pragma once

#include "base/annotations.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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
    backend::adjust_answer adjust(const backend::adjust_request& r);
    backend::lock_info inspect(const lock_name& name);
    std::vector<backend::lock_info> list(const std::string& glob);
    // Who held it.
    std::vector<owner_id> evict(const lock_name& name);

    void watch(const backend::lock_key& key, const owner_id& owner,
               const std::shared_ptr<watch_handler>& tell);
    void unwatch(const backend::lock_key& key, const owner_id& owner);

  private:
    struct holder {
        backend::kind of;
        owner_id owner;
        time_point expires;
        std::uint32_t holds = 1;  // of a semaphore: how many permits
    };
    struct waiter {
        backend::kind of;
        owner_id owner;
        std::uint64_t ticket;
        time_point since;
        time_point forgotten_at;  // unless it asks again
    };
    // What stands under one name.
    struct slot {
        std::vector<holder> holders;  // more than one only of a shared mutex
        std::deque<waiter> queue;     // of the kinds that keep a line
        std::uint64_t last_fence = 0;
        std::optional<std::int64_t> count;             // of a semaphore or a latch
        backend::kind counts = backend::kind::native;  // which of them, if there is a count

        void forget_expired(time_point now);
        // Removes holders, whose permits are free again. Returns how many holders that were.
        template <class Which>
        std::size_t remove(Which which);
        [[nodiscard]] bool is_another_kind(backend::kind k) const;
        [[nodiscard]] holder* find(backend::kind of, const owner_id& owner);
        [[nodiscard]] bool open_to(const backend::attempt_request& r) const;
        std::int64_t adjust(const backend::adjust_request& r);
    };
    // A shared mutex that is downgraded has two holds, and so two watchers, of one owner.
    using watcher_id = std::pair<backend::kind, owner_id>;
    struct watcher {
        lock_name name;
        std::shared_ptr<watch_handler> tell;
    };
    using calls = std::vector<std::function<void()>>;

    [[nodiscard]] static backend::attempt_answer look_at(const slot& latch);
    [[nodiscard]] static backend::attempt_answer not_enough(const slot& semaphore, time_point now);
    backend::attempt_answer take(const backend::attempt_request& r, calls& after) REQUIRES(mutex_);
    // Passes a free lock to the first in line that still listens, or to nobody. True if to somebody.
    bool pass(slot& s, calls& after) REQUIRES(mutex_);
    // Tells all who wait for it that it may be free. Returns how many.
    std::uint32_t tell_all(const lock_name& name, const owner_id& but, calls& after) REQUIRES(mutex_);
    backend::release_answer give_back(const backend::release_request& r, calls& after) REQUIRES(mutex_);
    void forget_if_idle(const lock_name& name) REQUIRES(mutex_);
    backend::lock_info describe(const lock_name& name, const slot& s, time_point now) const REQUIRES(mutex_);

    base::mutex mutex_;
    std::map<lock_name, slot> slots_ GUARDED_BY(mutex_);
    std::map<watcher_id, watcher> watchers_ GUARDED_BY(mutex_);
    std::uint64_t next_ticket_ GUARDED_BY(mutex_) = 1;
    std::uint64_t next_fence_ GUARDED_BY(mutex_) = 16;
};

}  // namespace holdfast::local_backend
