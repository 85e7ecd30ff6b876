#include "cli/process/line_sink.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>

namespace holdfast::cli {

namespace {

unique_fd own_writer(int fd) {
    struct stat about {};
    if (::fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode)) {
        // Opening the pipe anew gives us a flag O_NONBLOCK of our own; setting it on `fd` would change it for
        // all processes that share `fd`.
        const auto path = "/proc/self/fd/" + std::to_string(fd);
        if (const int again = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC); again >= 0)
            return unique_fd{again};
    }
    return unique_fd{::fcntl(fd, F_DUPFD_CLOEXEC, 0)};
}

}  // namespace

line_sink::line_sink(int fd) : fd_(own_writer(fd)) {}

void line_sink::put(std::string line) {
    if (!fd_) return;  // our parent had closed it: there is no reader
    line += '\n';
    if (kept_.size() + line.size() > max_kept) {
        flush();
    }
    if (kept_.size() + line.size() > max_kept) {
        ++dropped_;
        return;
    }
    kept_ += line;
    flush();
}

void line_sink::flush() noexcept {
    while (!kept_.empty() && ready(0)) {
        // At most PIPE_BUF: a blocking descriptor that poll() calls writable takes that much without waiting.
        const auto n = ::write(fd_.get(), kept_.data(), std::min<std::size_t>(kept_.size(), PIPE_BUF));
        if (n < 0) {
            if (errno != EAGAIN && errno != EINTR) kept_.clear();  // the reader is gone
            return;
        }
        kept_.erase(0, static_cast<std::size_t>(n));
    }
}

void line_sink::finish(std::chrono::milliseconds patience) noexcept {
    flush();
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!kept_.empty()) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        if (left.count() <= 0 || !ready(static_cast<int>(left.count()))) return;
        flush();
    }
}

bool line_sink::ready(int timeout_ms) const noexcept {
    pollfd me{fd_.get(), POLLOUT, 0};
    return ::poll(&me, 1, timeout_ms) > 0;
}

}  // namespace holdfast::cli
