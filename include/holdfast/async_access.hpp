// The base of async.hpp. Users do not need it.
#pragma once

#include <holdfast/callback.hpp>
#include <holdfast/export.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/leasable.hpp>
#include <holdfast/lease.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <system_error>

namespace holdfast {

namespace session {
class lockable;
class under_way;
struct acquisition;
}  // namespace session

namespace detail {

// The part that does not depend on Asio. `done` is called once, on a thread of the client or on the calling
// one.
class HOLDFAST_API async_access {
  public:
    using acquired = callback<void(std::error_code, lease)>;
    using released = callback<void(release_result)>;
    using counted = callback<void(std::error_code, std::int64_t)>;
    using time_point = boot_clock::time_point;

    class under_way {
      public:
        under_way() = default;
        void cancel() const;

      private:
        friend class async_access;
        std::weak_ptr<session::under_way> of_;
    };

    // What is to be acquired and how. Does not need the lock object afterwards: a lazy token begins when it
    // is awaited.
    class request {
      public:
        request(const leasable& lock, const acquire_options& options);

      private:
        friend class async_access;
        std::shared_ptr<session::lockable> of_;
        std::shared_ptr<const session::acquisition> how_;
    };

    // time_point::min(): one attempt.
    static under_way acquire(const request& what, time_point give_up_at, acquired done);
    static void release(lease held, released done);

    // The resulting lease only says that the count was zero.
    [[nodiscard]] static request wait_for(const latch& of);
    static void count_down(const request& of, std::int64_t by, counted done);

    // From now on; saturates.
    static time_point after(std::chrono::duration<double> wait) { return leasable::after_(wait); }
};

}  // namespace detail

}  // namespace holdfast
