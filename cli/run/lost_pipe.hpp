// Notifies a command of the loss of its lock without a signal.
#pragma once

#include "cli/process/unique_fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace holdfast::cli {

// The pipe whose reading end the command gets as HOLDFAST_LOST_FD. A byte comes, or the other end closes,
// when the command must no longer rely on the lock.
class lost_pipe {
  public:
    lost_pipe() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
            throw std::system_error(errno, std::generic_category(), "pipe2");
        }
        for_command_ = unique_fd{ends[0]};
        ours_ = unique_fd{ends[1]};
        ::fcntl(for_command_.get(), F_SETFL, 0);  // a shell's `read <&$HOLDFAST_LOST_FD` waits
    }
    void notify() noexcept { [[maybe_unused]] const auto n = ::write(ours_.get(), "!", 1); }
    [[nodiscard]] int for_command() const noexcept { return for_command_.get(); }

  private:
    unique_fd for_command_;
    unique_fd ours_;
};

}  // namespace holdfast::cli
