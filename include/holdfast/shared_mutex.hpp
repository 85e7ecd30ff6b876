// A lock with readers and writers.
#pragma once

#include <holdfast/mutex.hpp>

namespace holdfast {

// The same lock as Redisson's RReadWriteLock: many readers at once, or one writer. A SharedTimedLockable. The
// writer's functions are named as those of every other lock (lock, acquire...); the reader's have "shared" in
// their names. The thread that holds a side may lock it again. Not fair: new readers join the present ones
// although a writer waits.
//
// The writer may become a reader without a gap: lock_shared() by the thread that holds lock(), then unlock();
// with leases acquire_shared(writing). A reader never becomes the writer: if a thread holds lock_shared(),
// lock() throws errc::would_deadlock (try_lock: false).
//
// Thread safety: all members may be called from any threads at once.
class HOLDFAST_API shared_mutex : public exclusive_lock {
  public:
    shared_mutex(client& on, lock_name name, const lock_options& options = {});

    // --- as a standard SharedTimedLockable -----------------------------------------------------
    void lock_shared() { readers_.lock(); }
    [[nodiscard]] bool try_lock_shared() { return readers_.try_lock(); }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& wait) {
        return readers_.try_lock_for(wait);
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& when) {
        return readers_.try_lock_until(when);
    }
    void unlock_shared() noexcept { readers_.unlock(); }
    [[nodiscard]] bool shared_held_by_this_thread() const noexcept { return readers_.held_by_this_thread(); }

    using exclusive_lock::acquire;
    // As recursive_mutex::acquire(outer), for the writer.
    lease acquire(const lease& outer) { return nested_(outer); }

    // --- as a lease ----------------------------------------------------------------------------
    lease acquire_shared(const acquire_options& options = {}) { return readers_.acquire(options); }
    lease acquire_shared(const acquire_options& options, std::error_code& ec) {
        return readers_.acquire(options, ec);
    }
    lease acquire_shared(std::error_code& ec) { return readers_.acquire(ec); }
    // Reads as the holder of `writing`, a lease of this lock; release `writing` afterwards to remain a reader
    // only. Blocks for a round trip. Throws errc::not_owner if `writing` is not a lease of this lock's
    // writer, errc::lost if it has ended.
    lease acquire_shared(const lease& writing, const acquire_options& options = {}) {
        return readers_.beside(writing, options);
    }
    lease try_acquire_shared(const acquire_options& options = {}) { return readers_.try_acquire(options); }
    lease try_acquire_shared(const acquire_options& options, std::error_code& ec) {
        return readers_.try_acquire(options, ec);
    }
    lease try_acquire_shared(std::error_code& ec) { return readers_.try_acquire(ec); }
    template <class Rep, class Period>
    lease try_acquire_shared_for(const std::chrono::duration<Rep, Period>& wait,
                                 const acquire_options& options = {}) {
        return readers_.try_acquire_for(wait, options);
    }
    template <class Rep, class Period>
    lease try_acquire_shared_for(const std::chrono::duration<Rep, Period>& wait,
                                 const acquire_options& options, std::error_code& ec) {
        return readers_.try_acquire_for(wait, options, ec);
    }
    template <class Rep, class Period>
    lease try_acquire_shared_for(const std::chrono::duration<Rep, Period>& wait, std::error_code& ec) {
        return readers_.try_acquire_for(wait, ec);
    }
    template <class Clock, class Duration>
    lease try_acquire_shared_until(const std::chrono::time_point<Clock, Duration>& when,
                                   const acquire_options& options = {}) {
        return readers_.try_acquire_until(when, options);
    }

    // The readers' side as a lock object, for with_lock and async_acquire.
    [[nodiscard]] exclusive_lock& readers() noexcept { return readers_; }

  private:
    class reader_side : public exclusive_lock {
      public:
        reader_side(client& on, lock_name name, const lock_options& options);
        lease beside(const lease& writing, const acquire_options& options) {
            return beside_(writing, options);
        }
    };
    reader_side readers_;
};

}  // namespace holdfast
