// Annotations that state which lock guards what, for clang's -Wthread-safety, and a mutex that has them.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define HOLDFAST_TSA(x) __attribute__((x))
#else
#define HOLDFAST_TSA(x)
#endif

#define GUARDED_BY(m) HOLDFAST_TSA(guarded_by(m))
#define PT_GUARDED_BY(m) HOLDFAST_TSA(pt_guarded_by(m))
#define REQUIRES(...) HOLDFAST_TSA(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) HOLDFAST_TSA(locks_excluded(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS HOLDFAST_TSA(no_thread_safety_analysis)

namespace holdfast::base {

class HOLDFAST_TSA(capability("mutex")) mutex {
  public:
    void lock() HOLDFAST_TSA(acquire_capability()) { m_.lock(); }
    void unlock() HOLDFAST_TSA(release_capability()) { m_.unlock(); }
    bool try_lock() HOLDFAST_TSA(try_acquire_capability(true)) { return m_.try_lock(); }

  private:
    std::mutex m_;
};

// A lock_guard that can be unlocked and locked again, as unique_lock.
class HOLDFAST_TSA(scoped_lockable) guard {
  public:
    explicit guard(mutex& m) HOLDFAST_TSA(acquire_capability(m)) : m_(m) { m_.lock(); }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() HOLDFAST_TSA(release_capability()) {
        if (locked_) m_.unlock();
    }
    void lock() HOLDFAST_TSA(acquire_capability()) {
        m_.lock();
        locked_ = true;
    }
    void unlock() HOLDFAST_TSA(release_capability()) {
        locked_ = false;
        m_.unlock();
    }

  private:
    mutex& m_;
    bool locked_ = true;
};

}  // namespace holdfast::base
