// The differences between the kinds of lock: keys, scripts and messages. One object per kind and store; the
// store selects it by kind and knows nothing else about it.
#pragma once

#include "backends/redis/wire/store_context.hpp"
#include "store/counters.hpp"
#include "store/store.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::redis_backend {

class lock_protocol {
  public:
    lock_protocol() = default;
    lock_protocol(const lock_protocol&) = delete;
    lock_protocol& operator=(const lock_protocol&) = delete;
    virtual ~lock_protocol() = default;

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

    // One script renews many locks of the same lease and hold count. The protocol names the script and adds
    // the arguments of one lock; `args` already has the lease.
    [[nodiscard]] virtual redis::script_ref renew_script() const = 0;
    virtual void add_renew_args(const backend::renew_request&, std::vector<std::string>& args) const = 0;
};

class wake_channels;

// The mutex of docs/wire/mutex.md.
[[nodiscard]] std::unique_ptr<lock_protocol> make_string_mutex(store_context&, bool fenced,
                                                               std::shared_ptr<wake_channels>);
// The recursive mutex of docs/wire/recursive_mutex.md, Redisson's RLock; with fences its RFencedLock.
[[nodiscard]] std::unique_ptr<lock_protocol> make_recursive(store_context&, bool fenced);
// The fair mutex of docs/wire/fair_mutex.md: Redisson's RFairLock.
[[nodiscard]] std::unique_ptr<lock_protocol> make_fair(store_context&);
// Both sides of docs/wire/shared_mutex.md, Redisson's RReadWriteLock.
[[nodiscard]] std::unique_ptr<lock_protocol> make_shared_read(store_context&);
[[nodiscard]] std::unique_ptr<lock_protocol> make_shared_write(store_context&);

// The semaphore of docs/wire/semaphores.md: Redisson's RSemaphore, whose permits may have owners.
[[nodiscard]] std::unique_ptr<lock_protocol> make_semaphore(store_context&);
// Likewise Redisson's RPermitExpirableSemaphore.
[[nodiscard]] std::unique_ptr<lock_protocol> make_permit_semaphore(store_context&);
// The latch of docs/wire/latch.md: Redisson's RCountDownLatch.
[[nodiscard]] std::unique_ptr<lock_protocol> make_latch(store_context&);

}  // namespace holdfast::redis_backend
