// Names of mutexes whose queue the user has no right to, by the server's answers: their waiters poll instead.
#pragma once

#include "base/annotations.hpp"
#include "store/requests.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <unordered_map>

namespace holdfast::redis_backend {

// A name counts as without a queue for `believed_for`. Then the client tries the queue again, so that it uses
// a right that was granted meanwhile. Thread-safe; costs one atomic load while nothing is refused.
class refused_queues {
  public:
    using time_point = backend::time_point;

    // Costs one refused script each time it ends: seldom, compared to the polls every 25 to 50 ms.
    static constexpr std::chrono::milliseconds believed_for{2'000};
    static constexpr std::size_t most = 4'096;

    void add(const std::string& name, time_point now) EXCLUDES(mutex_) {
        base::guard hold{mutex_};
        if (until_.size() >= most) std::erase_if(until_, [&](const auto& e) { return e.second <= now; });
        // Too many are refused at once: each is tried once more.
        if (until_.size() >= most) until_.clear();
        until_[name] = now + believed_for;
        any_.store(true, std::memory_order_relaxed);
    }

    [[nodiscard]] bool has(const std::string& name, time_point now) EXCLUDES(mutex_) {
        if (!any_.load(std::memory_order_relaxed)) return false;
        base::guard hold{mutex_};
        const auto it = until_.find(name);
        if (it == until_.end()) return false;
        if (now < it->second) return true;
        until_.erase(it);
        any_.store(!until_.empty(), std::memory_order_relaxed);
        return false;
    }

  private:
    std::atomic<bool> any_{false};
    base::mutex mutex_;
    std::unordered_map<std::string, time_point> until_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::redis_backend
