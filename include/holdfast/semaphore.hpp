// Locks with a limited number of holders at a time.
#pragma once

#include <holdfast/leasable.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>

namespace holdfast {

struct semaphore_options {
    std::optional<std::chrono::milliseconds> ttl{};  // default of acquire_options::ttl for this semaphore
    std::optional<bool> renew{};                     // default of acquire_options::renew
    // The total number of permits. An acquisition sets it if it is not set, also while it waits, in case a
    // server lost its data.
    std::optional<std::int64_t> total{};
    replication replicas{};  // how many replicas must confirm a grant before it counts
};

// The base of both semaphores. A lease holds permits, acquire_options::permits at once; they
// come back when it is released or ends, so a killed holder keeps its permits no longer than its lease. The
// waiters of one process are served in order; between processes there is no order, and a waiter for many
// permits may wait as long as others that want few keep coming.
//
// A semaphore has no permits until their number is set (try_set_permits, semaphore_options::total);
// acquisitions wait until then. Counting operations block for a round trip, at most config::answer_timeout,
// and throw holdfast::error. An operation that is repeated because its answer was lost counts once.
class HOLDFAST_API semaphore_base : public leasable {
  public:
    // True: the number is now `permits` (0 or more). False: it was set before, and is unchanged.
    bool try_set_permits(std::int64_t permits);
    // Adds `permits`, or removes them if negative. Returns how many are free now; negative while more are
    // taken than there should be.
    std::int64_t add_permits(std::int64_t permits);
    [[nodiscard]] std::int64_t available_permits();

  protected:
    semaphore_base(client& on, lock_name name, kind of, const semaphore_options& options);
    ~semaphore_base() = default;

  private:
    std::int64_t total_ = 0;  // semaphore_options::total
};

// The same semaphore as Redisson's RSemaphore, where permits have no owner: Java's acquire() and release()
// are take() and give() here. The permits of a lease are recorded beside it; Java sees them as taken. Those
// of an expired lease come back as soon as any holdfast client uses the semaphore. At most 1,000,000,000 at
// once.
class HOLDFAST_API counting_semaphore : public semaphore_base {
  public:
    counting_semaphore(client& on, lock_name name, semaphore_options options = {});

    // Takes all free permits, and returns how many (negative if there were fewer than none).
    std::int64_t drain_permits();

    // --- without an owner: permits that come back only by give(), called by any process ------------
    // Blocks until it has the permits. If `stop` requests a stop, it throws errc::cancelled.
    void take(std::uint32_t permits = 1, const std::stop_token& stop = {});
    [[nodiscard]] bool try_take(std::uint32_t permits = 1);
    template <class Rep, class Period>
    [[nodiscard]] bool try_take_for(const std::chrono::duration<Rep, Period>& wait, std::uint32_t permits = 1,
                                    const std::stop_token& stop = {}) {
        return take_until_(after_(wait), permits, stop);
    }
    void give(std::uint32_t permits = 1);

  private:
    bool take_until_(time_point until, std::uint32_t permits, const std::stop_token& stop);
};

// The same semaphore as Redisson's RPermitExpirableSemaphore: every permit has an id and a time when it comes
// back. lease::owner() is the id as Java shows it; for n permits it is the first id and "*n" behind it, and
// the other ids are the numbers that follow. At most 1,000 at once.
class HOLDFAST_API permit_semaphore : public semaphore_base {
  public:
    permit_semaphore(client& on, lock_name name, semaphore_options options = {});

    // Releases a permit of another process: Java's (32 hexadecimal digits; in ZooKeeper the name of its node)
    // or holdfast's (lease::owner()). False: it had come back before. Throws errc::invalid_argument if `id`
    // is not an id.
    bool release(std::string_view id);
};

}  // namespace holdfast
