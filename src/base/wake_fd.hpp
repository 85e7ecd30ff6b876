// An eventfd that ends another thread's poll(). Shared by all that may write to it, so that its number is not
// reused while one of them is left.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>

namespace holdfast::base {

class wake_fd {
  public:
    // Throws std::system_error when there is no descriptor left.
    wake_fd() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    }
    wake_fd(const wake_fd&) = delete;
    wake_fd& operator=(const wake_fd&) = delete;
    ~wake_fd() { ::close(fd_); }

    [[nodiscard]] int get() const noexcept { return fd_; }

  private:
    const int fd_;
};

}  // namespace holdfast::base
