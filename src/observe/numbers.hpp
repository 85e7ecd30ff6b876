// Counters and distributions that many threads add to.
#pragma once

#include <holdfast/event.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>

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

// Shares of a lease that had passed, in per mille.
class share_recorder {
  public:
    // Upper bounds; the share of a lease that was nearly lost is the one of interest.
    static constexpr std::array<std::uint32_t, 8> bounds{100, 250, 400, 500, 600, 750, 900, 1'000};

    void add(boot_clock::duration passed, boot_clock::duration lease) noexcept {
        if (lease <= boot_clock::duration::zero()) return;
        const auto share = static_cast<double>(std::max<std::int64_t>(passed.count(), 0)) /
                           static_cast<double>(lease.count());
        const auto per_mille = static_cast<std::uint64_t>(std::min(share, 1e6) * 1'000);
        const auto at = std::ranges::lower_bound(bounds, per_mille);
        buckets_[static_cast<std::size_t>(at - bounds.begin())].add();
        sum_.add(per_mille);
    }
    // How many were within bounds[i], and not within a smaller bound; the last: beyond all.
    [[nodiscard]] std::uint64_t in(std::size_t i) const noexcept { return buckets_[i].get(); }
    [[nodiscard]] std::uint64_t sum() const noexcept { return sum_.get(); }

  private:
    std::array<counter, bounds.size() + 1> buckets_;
    counter sum_;
};

}  // namespace holdfast::observe
