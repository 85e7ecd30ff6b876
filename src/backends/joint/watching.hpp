// A waiter's messages from the levels that the mode needs.
#pragma once

#include "backends/joint/core.hpp"

namespace holdfast::joint_backend {

struct core::watching {
    watching(lock_key k, owner_id o, handler<watch_event> e)
        : key(std::move(k)), owner(std::move(o)), on_event(std::move(e)) {}

    const lock_key key;
    const owner_id owner;
    const handler<watch_event> on_event;

    struct one {
        std::size_t level;
        owner_id as;
        std::unique_ptr<watch_handle> handle;
    };
    base::mutex mutex;
    bool closed GUARDED_BY(mutex) = false;
    std::uint64_t epoch GUARDED_BY(mutex) = 0;  // of the mode for which it listens
    std::vector<one> in GUARDED_BY(mutex);
};

class core::watch_of_levels final : public watch_handle {
  public:
    explicit watch_of_levels(std::shared_ptr<watching> of) : of_(std::move(of)) {}
    ~watch_of_levels() override {
        std::vector<watching::one> over;  // destroyed without the mutex: a handler may be about to take it
        const base::guard lock(of_->mutex);
        of_->closed = true;
        over.swap(of_->in);
        over_ = std::move(over);
    }

  private:
    std::vector<watching::one> over_;
    const std::shared_ptr<watching> of_;
};

}  // namespace holdfast::joint_backend
