// What the configuration centre wishes for, as one client has last heard it. Without an arbiter the wish
// decides at once, in each client for itself, for locks whose policy fails open.
#pragma once

#include "fallback/document.hpp"

#include <atomic>

namespace holdfast::fallback {

// Thread-safe.
class wish {
  public:
    [[nodiscard]] bool without_store() const noexcept {
        return without_store_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] forced_breaker breaker() const noexcept { return breaker_.load(std::memory_order_relaxed); }

    // True: something is different now. A document without this group wishes nothing new for it.
    bool take(const document& d, const std::string& group) {
        const auto of_group = d.groups.find(group);
        const bool without =
            of_group == d.groups.end() ? without_store() : of_group->second == mode::fallback;
        const bool switched = without_store_.exchange(without) != without;
        return (breaker_.exchange(d.breaker) != d.breaker) || switched;
    }

  private:
    std::atomic<bool> without_store_{false};
    std::atomic<forced_breaker> breaker_{forced_breaker::no};
};

}  // namespace holdfast::fallback
