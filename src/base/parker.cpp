#include "base/parker.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <climits>
#include <cstdint>
#include <new>

namespace holdfast::base {

namespace {

timespec to_timespec(boot_clock::duration left) {
    const auto s = std::chrono::duration_cast<std::chrono::seconds>(left);
    return {static_cast<time_t>(s.count()), static_cast<long>((left - s).count())};
}

std::uint32_t* futex_word(std::atomic<std::uint32_t>& a) {
    static_assert(sizeof(a) == sizeof(std::uint32_t));
    return reinterpret_cast<std::uint32_t*>(&a);
}

}  // namespace

void parker::unpark() noexcept {
    const auto before = state_.exchange(asked, std::memory_order_acq_rel);
    if (before == parked) {
        ::syscall(SYS_futex, futex_word(state_), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    } else if (before == polling) {
        // wake_fd_ was stored before `polling` was published, and stays open as long as this parker lives.
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto n = ::write(wake_fd_.load(std::memory_order_relaxed), &one, sizeof one);
    }
}

void parker::consume() noexcept {
    std::uint32_t expected = asked;
    state_.compare_exchange_strong(expected, running, std::memory_order_acq_rel);
}

void parker::park_until(boot_clock::time_point until) noexcept {
    std::uint32_t expected = running;
    if (!state_.compare_exchange_strong(expected, parked, std::memory_order_acq_rel)) return;
    while (state_.load(std::memory_order_acquire) == parked) {
        const auto left = until - boot_clock::now();
        if (left <= boot_clock::duration::zero()) break;
        const timespec ts = to_timespec(left);
        ::syscall(SYS_futex, futex_word(state_), FUTEX_WAIT_PRIVATE, parked,
                  until == boot_clock::time_point::max() ? nullptr : &ts, nullptr, 0);
    }
    expected = parked;
    state_.compare_exchange_strong(expected, running, std::memory_order_acq_rel);
}

bool parker::poll_begin(const std::shared_ptr<const wake_fd>& wake) noexcept {
    if (latest_ != wake) {
        try {
            const bool known = !latest_ || std::find(kept_.begin(), kept_.end(), latest_) != kept_.end();
            if (!known) kept_.push_back(latest_);
        } catch (const std::bad_alloc&) {
            return false;
        }
        latest_ = wake;
    }
    wake_fd_.store(wake->get(), std::memory_order_relaxed);
    std::uint32_t expected = running;
    return state_.compare_exchange_strong(expected, polling, std::memory_order_acq_rel);
}

void parker::poll_end() noexcept {
    std::uint32_t expected = polling;
    state_.compare_exchange_strong(expected, running, std::memory_order_acq_rel);
}

}  // namespace holdfast::base
