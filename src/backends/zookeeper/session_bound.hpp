// The time until which the leases of a session are valid.
#pragma once

#include "base/annotations.hpp"
#include "store/bound.hpp"

#include <memory>

namespace holdfast::zookeeper_backend {

// Thread-safe.
class session_bound {
  public:
    // Leases that are granted from now on end with this.
    [[nodiscard]] std::shared_ptr<const backend::bound> current() const {
        base::guard lock(mutex_);
        return bound_;
    }
    // The servers keep the session until then. A bound that has passed does not come back: its leases have
    // ended, and those to come get another one.
    void proven(backend::time_point until) {
        const auto now = boot_clock::now();
        base::guard lock(mutex_);
        if (bound_->until() > now)
            bound_->extend(until, now);
        else if (until > now)
            bound_ = std::make_shared<backend::bound>(until);
    }
    // They end it earlier than it was proven.
    void shorten(backend::time_point until) {
        base::guard lock(mutex_);
        bound_->shorten(until);
    }
    // The session has ended.
    void end() {
        base::guard lock(mutex_);
        bound_->end();
        bound_ = std::make_shared<backend::bound>(backend::time_point{});
    }

  private:
    mutable base::mutex mutex_;
    std::shared_ptr<backend::bound> bound_ GUARDED_BY(mutex_) =
        std::make_shared<backend::bound>(backend::time_point{});
};

}  // namespace holdfast::zookeeper_backend
