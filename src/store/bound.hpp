// An upper bound on the time that many leases are valid, together: for example the client's session with its
// store, or what the arbiter of a store made of stores has confirmed.
#pragma once

#include <holdfast/types.hpp>

#include <atomic>

namespace holdfast::backend {

// The store extends the bound as it learns that its leases are valid for longer. Holders of such leases only
// read it. Thread-safe.
class bound {
  public:
    using time_point = boot_clock::time_point;

    explicit bound(time_point until) noexcept : until_(count(until)) {}
    bound(const bound&) = delete;
    bound& operator=(const bound&) = delete;

    [[nodiscard]] time_point until() const noexcept {
        return time_point{boot_clock::duration{until_.load(std::memory_order_acquire)}};
    }
    // Does nothing if the bound has passed or already is later than `until`: a bound that has passed does not
    // come back.
    void extend(time_point until, time_point now) noexcept {
        auto old = until_.load(std::memory_order_acquire);
        while (old > count(now) && old < count(until) &&
               !until_.compare_exchange_weak(old, count(until), std::memory_order_acq_rel)) {
        }
    }
    // The leases last no longer than `until`. Whoever waits for the end of the bound is told: see
    // notice::change::link_up.
    void shorten(time_point until) noexcept {
        auto old = until_.load(std::memory_order_acquire);
        while (old > count(until) &&
               !until_.compare_exchange_weak(old, count(until), std::memory_order_acq_rel)) {
        }
    }
    // Ends all leases with it, at once. The notice session_lost, which follows, reports that to their
    // holders.
    void end() noexcept { until_.store(count(time_point{}), std::memory_order_release); }

  private:
    static boot_clock::rep count(time_point t) noexcept { return t.time_since_epoch().count(); }

    std::atomic<boot_clock::rep> until_;
};

}  // namespace holdfast::backend
