// What differs from one kind of lock to the next: its keys, its scripts, its messages. One object per
// kind and store; the store picks it by kind and knows nothing else about it.
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

// What all layouts of one store share. Outlives them.
struct surroundings {
    redis::database& db;
    const std::string short_id;  // 22 characters
    const std::string uuid;      // the same 128 bits, as Redisson writes them
    std::chrono::milliseconds answer_timeout;
    std::string operations_kept;  // how long a result is kept for an operation that is sent again, in ms
    std::chrono::milliseconds fair_liveness;  // see config
    std::function<void(const backend::notice&)> tell;
    std::function<std::int64_t()> next_serial;  // microseconds since 1970, made to grow

    // With which Redisson's clients, and we on their channels, tell each other.
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

    // In a cluster: the lock's keys and channels have one slot. Where not, nobody can serve it there.
    [[nodiscard]] virtual bool fits_a_cluster(const lock_name&) const { return true; }
    [[nodiscard]] virtual owner_id new_owner(std::uint32_t permits) = 0;
    virtual void attempt(const backend::attempt_request&, time_point deadline,
                         handler<backend::attempt_answer>) = 0;
    virtual void release(const backend::release_request&, time_point deadline,
                         handler<backend::release_answer>) = 0;
    [[nodiscard]] virtual std::unique_ptr<backend::watch_handle> watch(const backend::lock_key&,
                                                                       const owner_id&,
                                                                       handler<backend::watch_event>) = 0;

    // Of kinds that have a counter.
    virtual void adjust(const backend::adjust_request&, time_point, handler<backend::adjust_answer> done) {
        done(backend::refused{{make_error_code(errc::wrong_kind), "it has no counter"}});
    }

    // Renewal is one script over many locks of one lease and hold count; a layout says which, and the
    // arguments of one lock. The lease is there already.
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
// The two sides of docs/wire/shared_mutex.md, Redisson's RReadWriteLock.
[[nodiscard]] std::unique_ptr<layout> make_shared_read(surroundings&);
[[nodiscard]] std::unique_ptr<layout> make_shared_write(surroundings&);

// The semaphore of docs/wire/semaphores.md: Redisson's RSemaphore, whose permits may have owners.
[[nodiscard]] std::unique_ptr<layout> make_semaphore(surroundings&);
// Likewise Redisson's RPermitExpirableSemaphore.
[[nodiscard]] std::unique_ptr<layout> make_permit_semaphore(surroundings&);
// The latch of docs/wire/latch.md: Redisson's RCountDownLatch.
[[nodiscard]] std::unique_ptr<layout> make_latch(surroundings&);

}  // namespace holdfast::redis_backend
