// The events of a run (what clients did, and the answers that they received) and the history that they form.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace holdfast::chaos {

// Nanoseconds of CLOCK_BOOTTIME: one clock for all processes of a machine, so times compare as they are.
using time_ns = std::int64_t;
inline constexpr time_ns never = std::numeric_limits<time_ns>::max();
inline constexpr time_ns long_ago = std::numeric_limits<time_ns>::min();

[[nodiscard]] constexpr time_ns in_ns(std::chrono::nanoseconds d) noexcept { return d.count(); }

// What a lock promises, by which the checker judges it.
enum class model : std::uint8_t {
    exclusive,  // one holder
    reentrant,  // one holder, that may hold it several times
    shared,     // one writer or many readers
    counted,    // as many holders as permits
    latch,      // no holders: clients wait until its count is zero
};

enum class action : std::uint8_t {
    acquire,
    release,
    look,   // valid()
    loss,   // whether lost_token() has reported the loss
    write,  // to the resource that checks fences
    // Latches.
    set,    // its count
    down,   // counts it down
    read,   // its count
    erase,  // to zero
    wait,   // for zero
};

enum class phase : std::uint8_t {
    none,    // an unfinished record of a killed process
    invoke,  // the request begins; its time was taken just before
    ok,      // acquired, released, valid or accepted. Its time was taken just after; for a look, just before
    busy,    // "no": another client has it; the count was not zero or, for an erase, was zero
    fail,    // an error; no longer held; not valid; refused
    info,    // unknown
};

enum class side : std::uint8_t { only, reader, writer };

struct event {
    time_ns t = 0;
    std::uint64_t hold = 0;   // unique for each acquisition of the run
    std::uint64_t outer = 0;  // of a nested hold: the hold around it
    std::uint64_t fence = 0;
    std::uint64_t token = 0;    // hash of the owner token
    time_ns deadline = 0;       // of the lease as it is known now; 0: not asked
    time_ns wait = 0;           // of an acquire: how long it may take; never: for ever
    time_ns lease = 0;          // of an acquire: no renewal makes it longer than this from when it is sent
    std::int64_t count = 0;     // of a latch: to set or to count down; in an answer, what is left
    std::uint32_t process = 0;  // unique for each incarnation of a client
    std::uint32_t thread = 0;
    std::uint32_t permits = 1;
    std::int32_t error = 0;
    std::uint16_t lock = 0;   // index into history::locks
    std::uint16_t depth = 1;  // number of holds around this one, itself included
    chaos::action action{};
    chaos::side side = side::only;
    // Written last: a record that has a phase is complete.
    chaos::phase phase = phase::none;
};
// Files hold events as they lie in memory.
static_assert(std::is_trivially_copyable_v<event>);

struct lock_row {
    std::string name;
    chaos::model model = model::exclusive;
    bool fenced = false;
    std::uint32_t permits = 1;
    // A process that died while it waited keeps its place in the queue until its turn: it may cause a "no"
    // long after.
    bool dead_stay_in_queue = false;
    // A failover may lose grants: only what the resource accepts is promised.
    bool best_effort = false;
    // Several servers decide by votes. A lease may end before its deadline without another client having
    // held the lock by then, and a refused request may have had some votes for a moment.
    bool by_votes = false;
    // The kernel frees what a killed process held, at once, whatever is left of the lease.
    bool ends_with_process = false;
    // Its store may tell a holder before the deadline that its lease is over; until the deadline nobody else
    // gets the lock.
    bool told_early = false;

    friend bool operator==(const lock_row&, const lock_row&) = default;
};

// What an eviction reported of one holder.
struct evicted_hold {
    std::uint64_t token = 0;  // as in event
    bool gave_up = false;
    time_ns may_go_on = never;  // never: not reported

    friend bool operator==(const evicted_hold&, const evicted_hold&) = default;
};

// A fault of the clients, the network or the servers.
struct fault {
    time_ns from = 0;
    time_ns to = 0;
    std::string what;
    // The client that was killed: its requests have no end. 0: none.
    std::uint32_t killed = 0;
    // The lock whose key was deleted: its holders are promised nothing from then on. -1: none.
    std::int32_t struck = -1;
    // From then on a server may serve that lacks acknowledged writes.
    bool forgets = false;
    // A program that writes no history may have any lock.
    bool foreign = false;
    // The lock whose holders an operator has evicted. -1: none.
    std::int32_t evicts = -1;
    std::vector<evicted_hold> evicted{};

    friend bool operator==(const fault&, const fault&) = default;
};

struct span_of_time {
    time_ns from = 0;
    time_ns to = 0;

    friend bool operator==(const span_of_time&, const span_of_time&) = default;
};

struct history {
    std::vector<lock_row> locks;
    std::vector<event> events;  // by time
    std::vector<fault> faults;  // by their beginning
    // Times without faults and without new requests: waiters must be served.
    std::vector<span_of_time> calm;
};

[[nodiscard]] std::string_view to_string(model m) noexcept;
[[nodiscard]] std::string_view to_string(action a) noexcept;
[[nodiscard]] std::string_view to_string(phase p) noexcept;
[[nodiscard]] std::string_view to_string(side s) noexcept;

// In milliseconds from `origin`: "+12.345 ms".
[[nodiscard]] std::string relative(time_ns t, time_ns origin);
// One line for people.
[[nodiscard]] std::string describe(const event& e, const std::vector<lock_row>& locks, time_ns origin);

}  // namespace holdfast::chaos
