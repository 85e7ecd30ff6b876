// What a client did and was told, one event at a time, and what the whole of a run is made of.
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

// What is promised of a lock, which is what the checker needs to know of it.
enum class model : std::uint8_t {
    exclusive,  // one holder
    reentrant,  // one holder, that may hold it several times
    shared,     // one writer or many readers
    counted,    // as many holders as permits
    latch,      // nobody holds it: a count that is waited for, until it is zero
};

enum class action : std::uint8_t {
    acquire,
    release,
    look,   // valid()
    loss,   // of the loss, through lost()
    write,  // to the resource that checks fences
    // Latches.
    set,    // its count
    down,   // counts it
    read,   // its count
    erase,  // to zero
    wait,   // for zero
};

enum class phase : std::uint8_t {
    none,    // of a record that a killed process had begun to write
    invoke,  // begins; the time was taken just before
    ok,      // got it; released; valid; accepted. The time was taken just after, but for a look: just before
    busy,    // "no": somebody else has it; the count was not zero, or, where it was to be erased, was
    fail,    // an error; not held any more; not valid; refused
    info,    // nobody knows
};

enum class side : std::uint8_t { only, reader, writer };

struct event {
    time_ns t = 0;
    std::uint64_t hold = 0;   // one number for each acquisition, in the whole run
    std::uint64_t outer = 0;  // of a nested one: the hold it is inside of
    std::uint64_t fence = 0;
    std::uint64_t token = 0;  // who the store says it is, as a hash
    time_ns deadline = 0;     // of the lease as it is known now; 0: not asked
    time_ns wait = 0;         // of an acquire: how long it may take; never: for ever
    time_ns lease = 0;        // of an acquire: no renewal makes it longer than this from when it is sent
    std::int64_t count = 0;   // of a latch: what it is set to, how far it is counted down; told: what is left
    std::uint32_t process = 0;  // one number for each incarnation
    std::uint32_t thread = 0;
    std::uint32_t permits = 1;
    std::int32_t error = 0;
    std::uint16_t lock = 0;   // index into history::locks
    std::uint16_t depth = 1;  // of the holds that this one is inside of, itself included
    chaos::action action{};
    chaos::side side = side::only;
    // Written last, so that a record of which it is there is whole.
    chaos::phase phase = phase::none;
};
// Events are kept in files as they are.
static_assert(std::is_trivially_copyable_v<event>);

struct lock_row {
    std::string name;
    chaos::model model = model::exclusive;
    bool fenced = false;
    std::uint32_t permits = 1;
    // A process that died while it waited keeps its place until its turn comes: it may be the reason of a
    // "no" long after.
    bool dead_stay_in_queue = false;
    // A failover may lose grants: only what the resource accepts is promised.
    bool best_effort = false;
    // Of several servers, by votes: its holder may be told that it is over before its deadline, without
    // anybody else having had it by then; and who is refused may have had some of them for a moment.
    bool by_votes = false;

    friend bool operator==(const lock_row&, const lock_row&) = default;
};

// What an operator was told of a holder that it evicted.
struct evicted_hold {
    std::uint64_t token = 0;  // as of event
    bool gave_up = false;
    time_ns may_go_on = never;  // never: nothing was said of that

    friend bool operator==(const evicted_hold&, const evicted_hold&) = default;
};

// Something that was done to the clients, the network or the servers.
struct fault {
    time_ns from = 0;
    time_ns to = 0;
    std::string what;
    // A client that was killed: what it had begun has no end. 0: nobody was.
    std::uint32_t killed = 0;
    // A lock whose key was deleted: who had it is promised nothing from then on. -1: none.
    std::int32_t struck = -1;
    // Others may serve from then on that have not heard of all that was acknowledged.
    bool forgets = false;
    // An operator has evicted those who held this lock. -1: none did.
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
    // When nothing was wrong and nothing was newly asked for: who waits must be served.
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
