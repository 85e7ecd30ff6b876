// Acquires several locks, all or none.
#pragma once

#include "cli/process/wake_fds.hpp"

#include <holdfast/client.hpp>
#include <holdfast/kind.hpp>
#include <holdfast/leasable.hpp>
#include <holdfast/lock_info.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::cli {

[[nodiscard]] constexpr bool gives_fences(kind k) {
    return k == kind::native_fenced || k == kind::recursive_fenced;
}

[[nodiscard]] constexpr bool has_permits(kind k) {
    return k == kind::semaphore || k == kind::permit_semaphore;
}

struct lock_request {
    std::vector<std::string> names;  // in any order, each once
    holdfast::kind kind = holdfast::kind::native;
    std::optional<std::chrono::milliseconds> ttl{};  // the lease is renewed all the same
    std::optional<std::chrono::milliseconds>
        wait{};                        // for all of them together; empty: no limit; 0: do not wait
    std::uint32_t permits = 1;         // of each semaphore
    std::optional<std::int64_t> of{};  // the number of permits of each, if it is not set yet
    replication replicas{};            // which must have each lock before it counts
    std::string policy{};              // of each; empty: by its name
    strength at_least = strength::process_local;
};

// A lock and its lease. Neither moves: a lease does not outlive its lock.
struct held_lock {
    std::string name;
    std::shared_ptr<leasable> lock{};  // of any kind
    lease hold{};
    std::chrono::milliseconds waited{};
};

// True for a semaphore whose number of permits is not set, if the request does not set it either: no client
// gets a permit.
[[nodiscard]] bool lacks_permits(const lock_info& seen, const lock_request& wanted);
inline constexpr auto how_to_set_permits = "its number of permits is not set; give --of";

// Acquires the locks on a thread of its own, so that the main thread can read signals. All users of this
// class acquire locks in the order of their names, so that two of them cannot block each other forever.
//
// Thread safety: call all members on the thread that constructed it.
class acquire_locks {
  public:
    enum class outcome {
        pending,
        acquired,   // locks() holds all of them
        conflict,   // another client held one for the whole wait
        lost,       // one was lost during the wait for another: lost_lock()
        cancelled,  // by cancel()
        failed,     // see failure()
    };

    acquire_locks(client& on, lock_request wanted);
    // Cancels, and blocks until the thread has ended.
    ~acquire_locks();
    acquire_locks(const acquire_locks&) = delete;
    acquire_locks& operator=(const acquire_locks&) = delete;

    // Readable when progress() has something new.
    [[nodiscard]] int fd() const noexcept { return wake_.fd(); }

    struct state {
        outcome what = outcome::pending;
        std::string waiting_for;   // a lock that another client holds; empty when we do not wait
        std::string held_up_by{};  // why no client gets the lock for a while, in words
    };
    [[nodiscard]] state progress();
    // Ends the wait; progress() reports when it has ended.
    void cancel() noexcept { stop_.request_stop(); }

    // With acquired: in the order in which they were acquired.
    [[nodiscard]] std::deque<held_lock>& locks() noexcept { return locks_; }
    [[nodiscard]] const std::deque<held_lock>& locks() const noexcept { return locks_; }
    // With acquired: releases them in reverse order and forgets them. Blocks for a round trip each.
    void release_all() noexcept;
    // With lost: its name.
    [[nodiscard]] const std::string& lost_lock() const noexcept { return lost_lock_; }
    // With conflict: the semaphore whose number of permits is not set. Empty if there is another reason.
    [[nodiscard]] const std::string& without_permits() const noexcept { return without_permits_; }
    // With failed.
    [[nodiscard]] std::exception_ptr failure() const noexcept { return failure_; }

  private:
    void work();
    [[nodiscard]] outcome acquire_all();
    void look_for_permits(const std::string& name);
    // Empty if another client held it for the whole wait.
    [[nodiscard]] lease acquire(held_lock& one);
    [[nodiscard]] lease try_or_wait(held_lock& one);
    [[nodiscard]] std::optional<std::chrono::nanoseconds> time_left() const;
    void publish(state now);

    client& on_;
    lock_request wanted_;
    boot_clock::time_point begun_;
    std::stop_source stop_;
    wake_event wake_;

    // Written by the acquiring thread, read by the owner once progress() has returned the outcome.
    std::deque<held_lock> locks_;
    std::string lost_lock_;
    std::string without_permits_;
    std::exception_ptr failure_;

    std::mutex guard_;
    state state_;  // under guard_

    std::jthread thread_;  // last: it uses all of the above
};

}  // namespace holdfast::cli
