#include "io/pollable.hpp"

#include "base/parker.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <poll.h>
#include <unistd.h>

namespace holdfast::io {

namespace {

// A connection may be made or lost, or need to write, without waking this poll: look again this often.
constexpr std::chrono::milliseconds look_again{20};

// One thread's turns on all connections.
class turns {
  public:
    turns(std::span<pollable* const> all, base::parker& me) : all_(all), me_(me) {
        for (std::size_t i = 0; i < all_.size(); ++i) {
            parked_[i] = {&me};
            parts_[i] = all_[i]->begin_turn(parked_[i]);
            reads_ = reads_ || parts_[i] == pollable::part::reader;
        }
    }
    turns(const turns&) = delete;
    turns& operator=(const turns&) = delete;
    ~turns() {
        for (std::size_t i = 0; i < all_.size(); ++i) all_[i]->end_turn(parts_[i], parked_[i]);
    }

    [[nodiscard]] bool reads() const noexcept { return reads_; }

    // Waits for replies, and reads those that have arrived.
    void go_on(std::chrono::nanoseconds at_most) {
        std::array<pollfd, most_pollables + 1> fds{};
        std::array<pollable*, most_pollables> whose{};
        nfds_t n = 0;
        const std::shared_ptr<const base::wake_fd>* wake = nullptr;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (parts_[i] != pollable::part::reader) continue;
            const auto wants = all_[i]->poll_for();
            if (wake == nullptr) wake = wants.wake;
            if (wants.fd < 0) continue;
            whose[n] = all_[i];
            fds[n++] = {wants.fd, wants.events, 0};
        }
        fds[n] = {(*wake)->get(), POLLIN, 0};
        const timespec timeout{0, static_cast<long>(at_most.count())};
        if (!me_.poll_begin(*wake)) return;
        const int ready = ::ppoll(fds.data(), n + 1, &timeout, nullptr);
        me_.poll_end();
        if (ready <= 0) return;
        if (fds[n].revents != 0) {
            std::uint64_t count = 0;
            [[maybe_unused]] const auto r = ::read((*wake)->get(), &count, sizeof count);
        }
        // Stop early if the first of them was enough: its caller waits for no more.
        for (nfds_t i = 0; i < n && !me_.unparked(); ++i) {
            if ((fds[i].revents & ~POLLOUT) != 0) whose[i]->read_some();
        }
    }

  private:
    const std::span<pollable* const> all_;
    base::parker& me_;
    std::array<parked_caller, most_pollables> parked_{};
    std::array<pollable::part, most_pollables> parts_{};
    bool reads_ = false;
};

}  // namespace

void poll_together(std::span<pollable* const> all, base::parker& me, boot_clock::time_point until) {
    if (me.unparked()) return;
    turns mine(all, me);
    if (!mine.reads()) return me.park_until(until);
    while (!me.unparked()) {
        const auto now = boot_clock::now();
        if (now >= until) return;
        mine.go_on(std::min<std::chrono::nanoseconds>(until - now, look_again));
    }
}

}  // namespace holdfast::io
