// Events of locks and stores that no call reports: for logs, metrics and alarms.
#pragma once

#include <holdfast/export.hpp>
#include <holdfast/types.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace holdfast {

enum class event_kind {
    acquired,
    released,
    renewed,         // reported once per round of renewals, for a lock that was in jeopardy
    jeopardy,        // renewal is failing; time is left
    lost,            // the lease ended before it was released
    release_failed,  // unlock() or a destructor could not release the lock, or did not hold it
    holder_gone,     // a thread ended while it held the lock; the lock is no longer renewed
    slow_callback,   // a callback of the user ran longer than config::slow_callback
    events_dropped,  // this listener was too slow; `detail` says how many events it did not receive
    store_up,
    store_down,
    store_restarted,   // the server came back as another process: it may have lost locks
    failed_over,       // another server is the master now: it may lack the latest grants
    eviction_risk,     // the server evicts keys under memory pressure, locks among them
    no_channel_right,  // this user may not use the wake channels: waiters poll
    quorum_weak,   // redlock: if one more server fails, no lock can be acquired; names those that cannot vote
    quorum_whole,  // redlock: all of its servers can vote again
    quorum_double,  // redlock: two of them are one server, which has one vote; names them
    quorum_even,    // redlock: their number is even: one of them adds nothing but another thing that can fail
    degraded,       // a lock was granted without its store, as its policy says (policy.hpp)
    restored,       // the store is back, and has that lock for its holder
    overlap,        // the store is back, and another client has that lock there: there are two holders
    switched,       // another store is in use (joint:), or none (config::switch_source); who says so, and why
    bad_document,   // what config::switch_source says cannot be used; the last good one counts on
    source_down,    // it, or the arbiter of a joint: URL, cannot be read; what it said last counts on
    source_up,      // it can be read again
    // The store has failed several times in a row, so locks with a policy ask it only now and then; names it,
    // and the last failure.
    breaker_open,
    breaker_closed,  // it works again
    clocks_apart,    // joint: the mode is not changed, as the clocks of both levels differ by too much
};

[[nodiscard]] HOLDFAST_API std::string_view to_string(event_kind k) noexcept;

struct event {
    event_kind kind;
    std::string lock;        // printable; empty for events of a store
    std::string detail;      // a sentence for people
    std::error_code reason;  // if there is one
    holdfast::fence fence = holdfast::fence::none;
    boot_clock::time_point at;
};

// Ends the delivery when destroyed; after that no call starts. Blocks until a running call ends, unless it is
// destroyed inside that call: do not hold a mutex that the callback needs. If two callbacks destroy the
// subscription of each other, one of them does not wait. May outlive its client, and then receives nothing
// more.
using event_subscription = std::shared_ptr<void>;

// Times of waiting or holding. Bucket sizes double: bucket i counts times below 2^i microseconds.
struct HOLDFAST_API histogram {
    std::array<std::uint64_t, 40> buckets{};
    std::uint64_t count = 0;
    std::chrono::microseconds sum{0};

    // Returns an upper bound of the p-quantile (0 <= p <= 1), within a factor of two. Zero when empty.
    [[nodiscard]] std::chrono::microseconds quantile(double p) const noexcept;
};

// Counters since the client was made. Each number is consistent, but not all of them together.
struct HOLDFAST_API client_stats {
    struct {
        std::uint64_t granted = 0, busy = 0, refused = 0, unknown = 0;
    } attempts;                      // requests to acquire, by the store's answer
    std::uint64_t acquired = 0;      // acquisitions that reached the store and succeeded
    std::uint64_t reentered = 0;     // nested holds
    std::uint64_t not_acquired = 0;  // another owner held the lock for the whole wait
    std::uint64_t failed = 0;        // ended by an error or cancelled
    std::uint64_t released = 0;
    std::uint64_t renewals = 0;
    std::uint64_t renewals_failed = 0;
    std::uint64_t lost = 0;
    std::uint64_t held_now = 0;
    std::uint64_t commands_sent = 0;
    std::uint64_t events_dropped = 0;  // a listener was too slow for its queue of 65,536 events
    histogram wait;                    // from the call to the grant
    histogram hold;                    // from the grant to the release

    // The share of acquisitions that failed or did not get the lock, among all that ended. 0 if none ended.
    [[nodiscard]] double failure_rate() const noexcept;
};

}  // namespace holdfast
