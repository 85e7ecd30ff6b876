// The differences between the kinds of lock: keys, scripts and messages. One object per kind and store; the
// store selects it by kind and knows nothing else about it.
#pragma once

#include "backends/redis/scripts.hpp"
#include "redis/database.hpp"
#include "store/counters.hpp"
#include "store/store.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::redis_backend {

using backend::handler;
using backend::time_point;

// Shared by all layouts of one store. Outlives them.
struct surroundings {
    redis::database& db;
    const std::string short_id;  // 22 characters
    const std::string uuid;      // the same 128 bits, as Redisson writes them
    std::chrono::milliseconds answer_timeout;
    std::string operations_kept;  // how long the result of an operation is kept for a resend, in ms
    std::chrono::milliseconds fair_liveness;  // see config
    std::function<void(const backend::notice&)> tell;
    std::function<std::int64_t()> next_serial;  // microseconds since 1970, always growing

    // The command that Redisson's clients, and we on their channels, use to send messages.
    [[nodiscard]] std::string_view publish() const {
        return db.channels() == redis::pubsub::sharded ? "SPUBLISH" : "PUBLISH";
    }
};

[[nodiscard]] inline redis::script_ref ref(const redis_scripts::script& s) { return {s.text, s.sha1}; }

class layout {
  public:
    layout() = default;
    layout(const layout&) = delete;
    layout& operator=(const layout&) = delete;
    virtual ~layout() = default;

    // In a cluster: whether the lock's keys and channels are all in one slot. If not, no client can serve it
    // there.
    [[nodiscard]] virtual bool fits_a_cluster(const lock_name&) const { return true; }
    [[nodiscard]] virtual owner_id new_owner(std::uint32_t permits) = 0;
    virtual void attempt(const backend::attempt_request&, time_point deadline,
                         handler<backend::attempt_answer>) = 0;
    virtual void release(const backend::release_request&, time_point deadline,
                         handler<backend::release_answer>) = 0;
    [[nodiscard]] virtual std::unique_ptr<backend::watch_handle> watch(const backend::lock_key&,
                                                                       const owner_id&,
                                                                       handler<backend::watch_event>) = 0;

    // For kinds that have a counter.
    virtual void adjust(const backend::adjust_request&, time_point, handler<backend::adjust_answer> done) {
        done(backend::refused{{make_error_code(errc::wrong_kind), "it has no counter"}});
    }

    // One script renews many locks of the same lease and hold count. The layout names the script and adds the
    // arguments of one lock; `args` already has the lease.
    [[nodiscard]] virtual redis::script_ref renew_script() const = 0;
    virtual void add_renew_args(const backend::renew_request&, std::vector<std::string>& args) const = 0;
};

class wake_boards;

// The mutex of docs/wire/mutex.md.
[[nodiscard]] std::unique_ptr<layout> make_native(surroundings&, bool fenced, std::shared_ptr<wake_boards>);
// The recursive mutex of docs/wire/recursive_mutex.md, Redisson's RLock; with fences its RFencedLock.
[[nodiscard]] std::unique_ptr<layout> make_recursive(surroundings&, bool fenced);
// The fair mutex of docs/wire/fair_mutex.md: Redisson's RFairLock.
[[nodiscard]] std::unique_ptr<layout> make_fair(surroundings&);
// Both sides of docs/wire/shared_mutex.md, Redisson's RReadWriteLock.
[[nodiscard]] std::unique_ptr<layout> make_shared_read(surroundings&);
[[nodiscard]] std::unique_ptr<layout> make_shared_write(surroundings&);

// The semaphore of docs/wire/semaphores.md: Redisson's RSemaphore, whose permits may have owners.
[[nodiscard]] std::unique_ptr<layout> make_semaphore(surroundings&);
// Likewise Redisson's RPermitExpirableSemaphore.
[[nodiscard]] std::unique_ptr<layout> make_permit_semaphore(surroundings&);
// The latch of docs/wire/latch.md: Redisson's RCountDownLatch.
[[nodiscard]] std::unique_ptr<layout> make_latch(surroundings&);

}  // namespace holdfast::redis_backend
