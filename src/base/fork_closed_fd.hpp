// A descriptor that a forked child does not keep.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace holdfast::base {

// The child closes its copy before fork() returns there. What the kernel frees at the last close of a file,
// such as flock(2), is so in the hands of the process that opened it, although the child may live on.
//
// Not for children of vfork(), posix_spawn() or a bare clone(), which run no handler: open with O_CLOEXEC.
class fork_closed_fd {
  public:
    fork_closed_fd() = default;
    fork_closed_fd(fork_closed_fd&& other) noexcept
        : fd_(std::exchange(other.fd_, -1)),
          place_(std::exchange(other.place_, nullptr)),
          generation_(other.generation_) {}
    fork_closed_fd& operator=(fork_closed_fd&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
            place_ = std::exchange(other.place_, nullptr);
            generation_ = other.generation_;
        }
        return *this;
    }
    ~fork_closed_fd() { reset(); }

    // `open` returns a new descriptor, or -1 with errno: the result is then empty, with that errno. A child
    // that another thread forks at the same time may have a copy of the descriptor without knowing it. So
    // this waits for the end of a fork that has begun, and calls `open` again if one begins meanwhile. It
    // waits for a second at most: a handler of that fork may wait for this thread. Handlers may call this,
    // too. Throws std::bad_alloc.
    template <class Open>
    [[nodiscard]] static fork_closed_fd from(Open open) {
        for (;;) {
            const auto before = forks_when_none_is_under_way();
            fork_closed_fd made{open()};
            if (!made || forks_begun() == before) return made;
        }
    }

    [[nodiscard]] int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    // In a forked child: does nothing. A child that another thread forks meanwhile may keep a copy, so free
    // before what must not be kept, as by LOCK_UN.
    void reset() noexcept;
    // Leaves it open, for somebody who closes it. A child that is forked later has a copy.
    void release() noexcept;

  private:
    explicit fork_closed_fd(int fd);
    [[nodiscard]] static std::uint64_t forks_begun() noexcept;
    [[nodiscard]] static std::uint64_t forks_when_none_is_under_way() noexcept;

    int fd_ = -1;
    std::atomic<int>* place_ = nullptr;  // where the handler of a fork finds it
    std::uint64_t generation_ = 0;
};

}  // namespace holdfast::base
