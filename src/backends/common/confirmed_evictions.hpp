// Which of the owners that were asked to give up have done so.
#pragma once

#include "base/annotations.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace holdfast::backends {

// Thread-safe.
class confirmed_evictions {
  public:
    // Call it before the owner is asked. A confirmation of any other owner is ignored.
    void expect(const std::string& owner) {
        constexpr std::size_t most = 20'000;  // left by evictions that ended long ago
        base::guard lock(mutex_);
        if (confirmed_.size() >= most) confirmed_.clear();
        confirmed_.try_emplace(owner, false);
    }
    // The client of the owner has ended its lease.
    void confirm(std::string_view owner) {
        base::guard lock(mutex_);
        if (const auto it = confirmed_.find(owner); it != confirmed_.end()) it->second = true;
    }
    [[nodiscard]] bool is_confirmed(std::string_view owner) const {
        base::guard lock(mutex_);
        const auto it = confirmed_.find(owner);
        return it != confirmed_.end() && it->second;
    }

  private:
    mutable base::mutex mutex_;
    std::map<std::string, bool, std::less<>> confirmed_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::backends
