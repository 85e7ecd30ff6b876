// What a client counts, always: its locks by family, and its requests.
#pragma once

#include "observe/numbers.hpp"

#include <holdfast/error.hpp>
#include <holdfast/event.hpp>
#include <holdfast/lock_family.hpp>
#include <holdfast/types.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::observe {

// Why a lease ended before it was released.
enum class loss {
    expired,    // it could not be renewed in time, or was not to be renewed
    not_owner,  // the store says that another owner has the lock, or nobody
    evicted,    // an operator took it, or the store did, because another client has the lock
    session,    // the session with the store has ended, or the mode lease of a joint store
    closed,     // its client was closed
};
inline constexpr std::array losses{loss::expired, loss::not_owner, loss::evicted, loss::session,
                                   loss::closed};
[[nodiscard]] std::string_view to_string(loss why) noexcept;

// The index of a failure is the value of its errc, or 0 if it has none.
inline constexpr std::size_t failure_kinds = static_cast<std::size_t>(errc::bad_reply) + 1;
[[nodiscard]] std::size_t index_of(const std::error_code& why) noexcept;
// The name of errc's enumerator; "other" for 0.
[[nodiscard]] std::string_view name_of_failure(std::size_t index) noexcept;

inline constexpr std::array strengths{strength::process_local, strength::host_local, strength::single,
                                      strength::quorum, strength::fenced_quorum};

// The counters of the locks of one family.
struct lock_counters {
    explicit lock_counters(std::string called) : family(std::move(called)) {}

    const std::string family;
    counter acquired, reentered, not_acquired, released, release_unknown, held;
    std::array<counter, failure_kinds> failed;
    std::array<counter, losses.size()> lost;
    std::array<counter, strengths.size()> grants;
    recorder wait, hold;
    share_recorder used_at_renewal, used_at_release;

    void lose(loss why) noexcept { lost[static_cast<std::size_t>(why)].add(); }
    [[nodiscard]] std::uint64_t all_failed() const noexcept;
    [[nodiscard]] std::uint64_t all_lost() const noexcept;
};

struct counters {
    explicit counters(const std::vector<lock_family>& families);

    counter granted, busy, refused, unknown;
    counter renewals, renewals_failed, events_dropped;
    // By event_kind, except `acquired` and `released`, which the families count.
    std::array<counter, 64> events;

    // The first family whose pattern matches, or the one of all others. Valid as long as this.
    [[nodiscard]] lock_counters& of(std::string_view name) noexcept;
    [[nodiscard]] const std::deque<lock_counters>& families() const noexcept { return families_; }
    // False: all locks are in one family without a name.
    [[nodiscard]] bool has_families() const noexcept { return families_.size() > 1; }

    [[nodiscard]] client_stats snapshot(std::uint64_t commands_sent) const;

  private:
    const std::vector<lock_family> patterns_;
    std::deque<lock_counters> families_;  // of the patterns, in their order; the last of all others
};

}  // namespace holdfast::observe
