// What async.hpp stands on. Users need nothing from here.
#pragma once

#include <holdfast/callback.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/mutex.hpp>

#include <chrono>
#include <memory>
#include <system_error>

namespace holdfast {

namespace session {
class background_acquire;
}

namespace detail {

// The part that knows nothing of Asio. `done` is called once, on a thread of the client's or on the calling
// one.
class HOLDFAST_API async_access {
  public:
    using acquired = callback<void(std::error_code, lease)>;
    using released = callback<void(release_result)>;
    using time_point = boot_clock::time_point;

    class under_way {
      public:
        under_way() = default;
        void cancel() const;

      private:
        friend class async_access;
        std::weak_ptr<session::background_acquire> of_;
    };

    static under_way acquire(exclusive& lock, time_point give_up_at, const acquire_options& options,
                             acquired done);
    static void release(lease held, released done);

    template <class Rep, class Period>
    static time_point after(const std::chrono::duration<Rep, Period>& wait) {
        return exclusive::after_(wait);
    }
};

}  // namespace detail

}  // namespace holdfast
