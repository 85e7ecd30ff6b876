// Requests that may still reach a member after the attempt that sent them has ended.
#pragma once

#include "base/annotations.hpp"
#include "engine/quorum.hpp"

#include <holdfast/types.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace holdfast::redlock_backend {

// Thread-safe.
class late_requests {
  public:
    // A request with this owner token may still reach member `i`.
    void remember(const owner_id& token, std::size_t i) {
        base::guard lock(mutex_);
        if (members_of_.size() >= most) members_of_.erase(members_of_.begin());
        members_of_[token.str()].set(i);
    }
    // True if such a request was remembered.
    bool forget(const owner_id& token, std::size_t i) {
        base::guard lock(mutex_);
        if (members_of_.empty()) return false;
        const auto it = members_of_.find(token.str());
        if (it == members_of_.end() || !it->second.test(i)) return false;
        it->second.reset(i);
        if (it->second.none()) members_of_.erase(it);
        return true;
    }

  private:
    // Entries of lost requests stay until then. Each is short-lived, and no promise depends on it.
    static constexpr std::size_t most = 1'000;

    base::mutex mutex_;
    std::map<std::string, engine::member_set, std::less<>> members_of_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::redlock_backend
