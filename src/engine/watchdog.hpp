// Which leases must be renewed or declared lost, and when: one timetable for a whole client.
// Not thread-safe; its owner keeps it under a lock. No clock: every call is told the time.
//
//   held      -- renewal unknown --> jeopardy -- renewed --> held
//   held, jeopardy -- deadline or "not yours" --> lost        (reported once, then forgotten)
#pragma once

#include "engine/validity.hpp"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace holdfast::engine {

using lease_id = std::uint64_t;

class watchdog {
  public:
    explicit watchdog(double renew_after = 1.0 / 3) : renew_after_(renew_after) {}

    // `renewed`: it is to be renewed before the deadline; otherwise it only ends there.
    void add(lease_id id, time_point deadline, milliseconds lease, bool renewed, time_point now);
    void remove(lease_id id);

    // An answer. False if the lease is not in the table any more.
    void renewed(lease_id id, time_point deadline, time_point now);
    // The store gives no more than this at a time, whatever is asked for.
    void gives_less(lease_id id, milliseconds lease);
    void not_answered(lease_id id, time_point now);  // tried again soon

    // All renewals are due now: the store came back.
    void hurry(time_point now);

    struct work {
        std::vector<lease_id> renew;    // answered by renewed() or not_answered(), or asked for again soon
        std::vector<lease_id> overdue;  // those of `renew` whose last renewal has no answer yet
        std::vector<lease_id> lost;     // the deadline has passed; removed from the table
    };
    [[nodiscard]] work due(time_point now);

    // When `due` has something to say next.
    [[nodiscard]] time_point next();
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  private:
    struct entry {
        time_point deadline;
        milliseconds lease;
        time_point renew_at;  // max(): never
        bool renewed;
        bool asked = false;  // a renewal is under way
        time_point key{};    // where it stands in by_time_
    };
    [[nodiscard]] time_point next_renewal(milliseconds lease, time_point now) const noexcept;
    void plan_renewal(entry& e, time_point now) const noexcept;
    // The pause between tries while renewal fails.
    [[nodiscard]] static boot_clock::duration retry_gap(const entry& e, time_point now) noexcept;
    void place(lease_id id, entry& e);
    [[nodiscard]] bool stands(lease_id id, time_point at) const;
    void sweep();

    const double renew_after_;
    time_point origin_{};  // when it had its first lease: clients do not all renew at once
    std::unordered_map<lease_id, entry> entries_;
    // By the millisecond. A lease that moves or ends leaves its id behind, which is skipped later: most
    // locks are given back long before anything is due.
    std::map<time_point, std::vector<lease_id>> by_time_;
    std::size_t ids_ = 0;  // in by_time_
};

}  // namespace holdfast::engine
