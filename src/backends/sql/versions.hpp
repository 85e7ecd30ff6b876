// The versions that a client writes.
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::sql_backend {

// No number returns, and no two clients have one in common: a statement that expects one meets exactly the
// row that it means. Thread-safe.
class versions {
  public:
    explicit versions(std::int64_t client) noexcept : client_(static_cast<std::uint64_t>(client)) {}

    // Positive. Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (SplitMix64).
    [[nodiscard]] std::int64_t next() noexcept {
        constexpr std::uint64_t golden = 0x9e37'79b9'7f4a'7c15;
        auto n = client_ + golden * (1 + made_.fetch_add(1, std::memory_order_relaxed));
        n = (n ^ (n >> 30U)) * 0xbf58'476d'1ce4'e5b9;
        n = (n ^ (n >> 27U)) * 0x94d0'49bb'1331'11eb;
        n ^= n >> 31U;
        return static_cast<std::int64_t>((n >> 1U) | 1U);
    }

  private:
    const std::uint64_t client_;
    std::atomic<std::uint64_t> made_{0};
};

}  // namespace holdfast::sql_backend
