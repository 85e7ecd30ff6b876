// An upper bound on the time that many leases are valid, together: for example the client's session with its
// store, or what the arbiter of a store made of stores has confirmed.
#pragma once

#include <holdfast/types.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

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
        auto first = own();
        for (const auto& other : others_)
            if (const auto* const also = other.load(std::memory_order_acquire); also != nullptr)
                first = std::min(first, also->until());
        return first;
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
    // From now on the leases end with `other`, too, or no longer if that is empty. There is room for two such
    // bounds. One thread at a time; `other` has none itself.
    // True: the bound may end earlier than before.
    bool end_with(std::size_t place, const std::shared_ptr<const bound>& other, time_point now) {
        auto& at = others_.at(place);
        const auto* const before = at.load(std::memory_order_relaxed);
        if (before == other.get()) return false;
        // Readers may still use the one before.
        if (other && std::ranges::find(kept_, other) == kept_.end()) kept_.push_back(other);
        if (before != nullptr && before->until() <= now) end();  // it does not come back
        at.store(other.get(), std::memory_order_release);
        return other != nullptr;
    }
    // Ends all leases with it, at once. The notice session_lost, which follows, reports that to their
    // holders.
    void end() noexcept { until_.store(count(time_point{}), std::memory_order_release); }

  private:
    [[nodiscard]] time_point own() const noexcept {
        return time_point{boot_clock::duration{until_.load(std::memory_order_acquire)}};
    }
    static boot_clock::rep count(time_point t) noexcept { return t.time_since_epoch().count(); }

    std::atomic<boot_clock::rep> until_;
    std::array<std::atomic<const bound*>, 2> others_{};
    std::vector<std::shared_ptr<const bound>> kept_;  // those that were in others_
};

}  // namespace holdfast::backend
