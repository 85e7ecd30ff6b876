#include "base/fork_closed_fd.hpp"

#include "base/fork.hpp"

#include <pthread.h>

#include <array>
#include <chrono>
#include <thread>

namespace holdfast::base {

namespace {

// The handler in the child may take no lock, because another thread of the parent may have had it. So places
// are taken and left by single atomic operations, and blocks of them are never freed.
struct block {
    std::array<std::atomic<int>, 256> places{};  // descriptor + 1; 0: free
    std::atomic<block*> next{nullptr};
};
block first;
// Forks of all threads. Those that have ended are never more than those that have begun.
std::atomic<std::uint64_t> begun{0};
std::atomic<std::uint64_t> ended{0};
thread_local std::uint64_t begun_here = 0;  // those of this thread that have not ended: one, or none

void before_fork() {
    begun.fetch_add(1);
    ++begun_here;
}

void after_fork_in_parent() {
    --begun_here;
    ended.fetch_add(1);
}

void after_fork_in_child() {
    begun_here = 0;
    ended.store(begun.load());  // the other threads, which may have forked as well, do not exist here
    for (auto* b = &first; b != nullptr; b = b->next.load()) {
        for (auto& place : b->places)
            if (const int entry = place.exchange(0); entry != 0) ::close(entry - 1);
    }
}

[[maybe_unused]] const int closes_in_children =
    ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

block* add_block_behind(block& last) {
    auto* const made = new block;
    block* none = nullptr;
    if (last.next.compare_exchange_strong(none, made)) return made;
    delete made;
    return none;
}

std::atomic<int>* enter(int fd) {
    for (auto* b = &first;;) {
        for (auto& place : b->places) {
            int free = 0;
            if (place.load(std::memory_order_relaxed) == 0 && place.compare_exchange_strong(free, fd + 1))
                return &place;
        }
        auto* const next = b->next.load();
        b = next != nullptr ? next : add_block_behind(*b);
    }
}

}  // namespace

std::uint64_t fork_closed_fd::forks_begun() noexcept { return begun.load(); }

// A fork copies the descriptors first and the memory later, and takes some milliseconds in a large process.
std::uint64_t fork_closed_fd::forks_when_none_is_under_way() noexcept {
    constexpr std::chrono::seconds longest_fork{1};
    const auto enough = std::chrono::steady_clock::now() + longest_fork;
    for (;;) {
        // In this order: if both are equal, no fork was under way when `ended` was read.
        const auto over = ended.load();
        const auto all = begun.load();
        if (over + begun_here == all || std::chrono::steady_clock::now() >= enough) return all;
        std::this_thread::sleep_for(std::chrono::microseconds{20});
    }
}

fork_closed_fd::fork_closed_fd(int fd) : fd_(fd), generation_(fork_generation()) {
    if (fd < 0) return;
    try {
        place_ = enter(fd);
    } catch (...) {
        ::close(fd);
        throw;
    }
}

void fork_closed_fd::reset() noexcept {
    const int fd = std::exchange(fd_, -1);
    auto* const place = std::exchange(place_, nullptr);
    if (fd < 0 || generation_ != fork_generation()) return;
    // In the other order, a child could close a descriptor that has the same number by then.
    place->store(0);
    const int kept = errno;
    ::close(fd);
    errno = kept;
}

void fork_closed_fd::release() noexcept {
    auto* const place = std::exchange(place_, nullptr);
    if (std::exchange(fd_, -1) >= 0 && generation_ == fork_generation()) place->store(0);
}

}  // namespace holdfast::base
