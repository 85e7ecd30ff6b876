// Counters of locks, cheap enough to be always on.
#pragma once

#include <holdfast/event.hpp>

#include <array>
#include <atomic>
#include <bit>

namespace holdfast::observe {

// Lock-free; relaxed, since no conclusion is drawn from one number about another.
class counter {
  public:
    void add(std::uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
    void subtract(std::uint64_t n = 1) noexcept { value_.fetch_sub(n, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_{0};
};

class recorder {
  public:
    void add(boot_clock::duration d) noexcept {
        const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, d.count()) / 1000);
        const auto bucket =
            std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(us)), buckets_.size() - 1);
        buckets_[bucket].add();
        sum_.add(us);
    }
    [[nodiscard]] histogram get() const noexcept {
        histogram h;
        for (std::size_t i = 0; i < buckets_.size(); ++i) {
            h.buckets[i] = buckets_[i].get();
            h.count += h.buckets[i];
        }
        h.sum = std::chrono::microseconds{sum_.get()};
        return h;
    }

  private:
    std::array<counter, std::tuple_size_v<decltype(histogram::buckets)>> buckets_;
    counter sum_;
};

struct counters {
    counter granted, busy, refused, unknown;
    counter acquired, reentered, not_acquired, failed, released, renewals, renewals_failed, lost, held,
        events_dropped;
    recorder wait, hold;

    [[nodiscard]] client_stats snapshot(std::uint64_t commands_sent) const {
        client_stats s;
        s.attempts = {granted.get(), busy.get(), refused.get(), unknown.get()};
        s.acquired = acquired.get();
        s.reentered = reentered.get();
        s.not_acquired = not_acquired.get();
        s.failed = failed.get();
        s.released = released.get();
        s.renewals = renewals.get();
        s.renewals_failed = renewals_failed.get();
        s.lost = lost.get();
        s.held_now = held.get();
        s.commands_sent = commands_sent;
        s.events_dropped = events_dropped.get();
        s.wait = wait.get();
        s.hold = hold.get();
        return s;
    }
};

}  // namespace holdfast::observe
