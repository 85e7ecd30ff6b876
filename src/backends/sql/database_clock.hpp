// What time it is in the database, without asking it.
#pragma once

#include "base/annotations.hpp"
#include "engine/lock_record.hpp"
#include "store/requests.hpp"

#include <chrono>
#include <optional>

namespace holdfast::sql_backend {

// Thread-safe.
class database_clock {
  public:
    // The database's time is between these, unless its clock was set, or the client was stopped.
    struct estimate {
        engine::store_time earliest;
        engine::store_time latest;
    };

    // The database answered with its time, `at`, to a statement of `sent`.
    void observe(backend::time_point sent, engine::store_time at, backend::time_point now) {
        const base::guard lock(mutex_);
        seen_ = {sent, now, at};
    }
    // For a statement that is sent now. Empty: the last answer is too old.
    [[nodiscard]] std::optional<estimate> at(backend::time_point now) const {
        constexpr std::chrono::seconds too_old{10};
        // The time on the way, which is also how much longer than it must a lease may be kept for.
        constexpr std::chrono::milliseconds most_on_its_way{50};
        const base::guard lock(mutex_);
        if (!seen_ || now - seen_->sent > too_old) return std::nullopt;
        const auto drift = (now - seen_->sent) / 1'000;
        return estimate{seen_->at + (now - seen_->answered) - drift,
                        seen_->at + (now - seen_->sent) + drift + most_on_its_way};
    }

  private:
    struct observation {
        backend::time_point sent;
        backend::time_point answered;
        engine::store_time at;
    };
    mutable base::mutex mutex_;
    std::optional<observation> seen_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::sql_backend
