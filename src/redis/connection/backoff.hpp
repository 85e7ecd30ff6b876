// How long to wait before the next attempt to connect.
#pragma once

#include "base/random.hpp"
#include "redis/config/node_config.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::redis {

// Exponential, with full jitter. Used by one thread.
class backoff {
  public:
    explicit backoff(const backoff_config& c) : config_(c) {}

    [[nodiscard]] std::chrono::nanoseconds next() {
        const auto ceiling = std::min<std::chrono::nanoseconds>(
            config_.first * (std::int64_t{1} << std::min(tries_, 20)), config_.most);
        ++tries_;
        return jittered(ceiling, 0.0);
    }
    // The pause after the server refused us: at least half of the configured one.
    [[nodiscard]] std::chrono::nanoseconds refused() const { return jittered(config_.refused, 0.5); }
    void reset() noexcept { tries_ = 0; }

  private:
    static std::chrono::nanoseconds jittered(std::chrono::nanoseconds ceiling, double least) {
        const double part = least + (1.0 - least) * base::jitter();
        return std::chrono::nanoseconds{
            static_cast<std::int64_t>(static_cast<double>(ceiling.count()) * part)};
    }

    backoff_config config_;
    int tries_ = 0;
};

}  // namespace holdfast::redis
