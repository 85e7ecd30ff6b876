#include "cli/process/terminal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace holdfast::cli {

terminal::terminal() : fd_(::open("/dev/tty", O_RDWR | O_CLOEXEC)) {}

bool terminal::to_be_given_at_start() const noexcept {
    struct stat out {};
    const bool in_pipeline = ::fstat(STDOUT_FILENO, &out) == 0 && S_ISFIFO(out.st_mode);
    return ::isatty(STDIN_FILENO) == 1 && is_ours() && !in_pipeline;
}

bool terminal::is_ours() const noexcept { return belongs_to(::getpgrp()); }

bool terminal::belongs_to(pid_t group) const noexcept { return fd_ && ::tcgetpgrp(fd_.get()) == group; }

void terminal::give_to(pid_t group) const noexcept {
    if (fd_) ::tcsetpgrp(fd_.get(), group);
}

void terminal::take_back_from(pid_t group) const noexcept {
    if (!fd_) return;
    const pid_t now = ::tcgetpgrp(fd_.get());
    const bool group_is_empty = now > 0 && ::kill(-now, 0) != 0 && errno == ESRCH;
    if (now == group || group_is_empty) ::tcsetpgrp(fd_.get(), ::getpgrp());
}

}  // namespace holdfast::cli
