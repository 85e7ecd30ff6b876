// When each lease of a client must be renewed or declared lost. Not thread-safe; its owner guards it by a
// lock. It reads no clock: every call passes in the time.
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

    // `renewed`: renew it before the deadline; otherwise it ends there.
    void add(lease_id id, time_point deadline, milliseconds lease, bool renewed, time_point now);
    void remove(lease_id id);

    // A renewal worked. Does nothing if the lease is not in the table.
    void renewed(lease_id id, time_point deadline, time_point now);
    // The store gives no more than this per renewal, whatever is asked for, and ends the lease at `deadline`.
    // Call renewed() after it.
    void gives_less(lease_id id, milliseconds lease, time_point deadline);
    void not_answered(lease_id id, time_point now);  // a retry follows soon

    // Makes all renewals due now: the connection is back.
    void hurry(time_point now);

    struct work {
        std::vector<lease_id> renew;    // answer with renewed() or not_answered(), or they come up again soon
        std::vector<lease_id> overdue;  // those of `renew` whose last renewal has no answer yet
        std::vector<lease_id> lost;     // their deadline has passed; they are removed from the table
    };
    [[nodiscard]] work due(time_point now);

    // When `due` next has work.
    [[nodiscard]] time_point next();
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  private:
    struct entry {
        time_point deadline;
        milliseconds lease;
        time_point renew_at;  // max(): never
        bool renewed;
        bool asked = false;  // a renewal is under way
        time_point key{};    // its key in by_time_
    };
    [[nodiscard]] time_point next_renewal(milliseconds lease, time_point now) const noexcept;
    void plan_renewal(entry& e, time_point now) const noexcept;
    // The pause between retries while renewal fails.
    [[nodiscard]] static boot_clock::duration retry_gap(const entry& e, time_point now) noexcept;
    void place(lease_id id, entry& e);
    [[nodiscard]] bool is_current(lease_id id, time_point at) const;
    void sweep();

    const double renew_after_;
    time_point origin_{};  // time of the first lease, so that not all clients renew at the same moment
    std::unordered_map<lease_id, entry> entries_;
    // By the millisecond. A lease that moves or ends leaves its id behind, which is skipped later: most locks
    // are released long before anything is due.
    std::map<time_point, std::vector<lease_id>> by_time_;
    std::size_t ids_ = 0;  // in by_time_
};

}  // namespace holdfast::engine
