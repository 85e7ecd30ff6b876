#include "cli/process/wake_fds.hpp"

#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <system_error>

namespace holdfast::cli {

namespace {

unique_fd checked(int fd, const char* what) {
    if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
    return unique_fd{fd};
}

// Both kinds of descriptor are 8-byte counters. A failed read or write means that there is nothing to do.
void drain(int fd) noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto n = ::read(fd, &count, sizeof count);
}

}  // namespace

wake_event::wake_event() : fd_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {}

void wake_event::notify() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(fd_.get(), &one, sizeof one);
}

void wake_event::clear() noexcept { drain(fd_.get()); }

wake_timer::wake_timer()
    : fd_(checked(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create")) {}

void wake_timer::set(boot_clock::time_point when) noexcept {
    itimerspec spec{};  // zero: never
    if (when != boot_clock::time_point::max()) {
        const auto at = std::max(when.time_since_epoch(), boot_clock::duration{1});
        const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
        spec.it_value.tv_sec = static_cast<time_t>(seconds.count());
        spec.it_value.tv_nsec = static_cast<long>((at - seconds).count());
    }
    ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

void wake_timer::clear() noexcept { drain(fd_.get()); }

}  // namespace holdfast::cli
