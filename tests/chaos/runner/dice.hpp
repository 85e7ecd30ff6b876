// Random numbers that are the same for the same seed, on every machine and with every C++ library.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>

namespace holdfast::chaos {

// SplitMix64.
class dice {
  public:
    explicit dice(std::uint64_t seed) noexcept : state_(seed) {}
    // One of several independent sequences with the same seed.
    dice(std::uint64_t seed, std::initializer_list<std::uint64_t> which) noexcept : state_(seed) {
        for (const auto w : which) state_ = next() ^ w * 0x9e3779b97f4a7c15U;
    }

    std::uint64_t next() noexcept {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
        z = (z ^ z >> 30U) * 0xbf58476d1ce4e5b9U;
        z = (z ^ z >> 27U) * 0x94d049bb133111ebU;
        return z ^ z >> 31U;
    }
    // 0 to n - 1. The bias is far below what matters here.
    std::uint64_t below(std::uint64_t n) noexcept { return n == 0 ? 0 : next() % n; }
    bool percent(unsigned p) noexcept { return below(100) < p; }
    std::chrono::milliseconds between(std::chrono::milliseconds least,
                                      std::chrono::milliseconds most) noexcept {
        return least +
               std::chrono::milliseconds{below(static_cast<std::uint64_t>((most - least).count()) + 1)};
    }

  private:
    std::uint64_t state_;
};

}  // namespace holdfast::chaos
