// The numbers that tell the owners of one client apart.
#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace holdfast::backends {

// Thread-safe.
class owner_serials {
  public:
    // Microseconds since 1970, or one more than the last number: the clock may be set back. So a number also
    // shows when the owner was made.
    [[nodiscard]] std::int64_t next() noexcept {
        auto last = last_.load(std::memory_order_relaxed);
        std::int64_t next = 0;
        do {
            next = std::max(last + 1, base::wall_microseconds());
        } while (!last_.compare_exchange_weak(last, next, std::memory_order_relaxed));
        return next;
    }

  private:
    std::atomic<std::int64_t> last_{0};
};

}  // namespace holdfast::backends
