// The four ways in which the shop of `holdfast demo outage` gets through an outage of Redis.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace holdfast::cli::demo::outage {

enum class scheme {
    chain,        // three tries in Redis, then a lock of the process: as in the article, word by word
    fail_closed,  // no Redis, no sale
    fail_open,    // a lock of the process while Redis is away, and a version column always
    joint,        // the group changes to a substitute by itself
};
inline constexpr std::array all_schemes{scheme::chain, scheme::fail_closed, scheme::fail_open, scheme::joint};

[[nodiscard]] std::string_view name_of(scheme one);

struct outage_plan {
    std::int64_t requests = 100'000;
    std::int64_t stock = 60'000;
    std::int64_t rate = 5'000;  // requests per second
    int processes = 4;
    int threads = 16;                           // in each process
    std::chrono::milliseconds patience{1'000};  // a customer who gets no answer for so long leaves
    double killed_at = 0.35;                    // Redis, as shares of the round's time
    double back_at = 0.65;

    // How many requests the process with this number gets, counted from 0.
    [[nodiscard]] constexpr std::int64_t share_of(int process) const noexcept {
        return requests / processes + (process < requests % processes ? 1 : 0);
    }
    [[nodiscard]] std::chrono::duration<double> length() const noexcept {
        return std::chrono::duration<double>{static_cast<double>(requests) / static_cast<double>(rate)};
    }
};

}  // namespace holdfast::cli::demo::outage
