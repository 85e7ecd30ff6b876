// What a store shows about a lock: holders, waiters, counters.
#pragma once

#include <holdfast/types.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// Whether a holder's client is connected to the store at present.
enum class presence : std::uint8_t {
    unknown,  // the store does not say, or it is not a holdfast client
    connected,
    gone,
};

struct holder_info {
    std::string owner;
    std::uint32_t holds = 1;  // how often it was locked, or how many permits it has
    bool writes = false;      // the writer of a shared mutex; else a reader
    std::string host;         // empty if the store does not know
    std::int64_t pid = 0;
    std::optional<std::chrono::system_clock::time_point> since;  // when the holder requested it, by its clock
    presence client = presence::unknown;
    std::string ask_at{};  // for evict(): where the holder's client receives requests; empty: nowhere
    // The client of a lease of several permits knows it by the id of the first permit, given here. Empty: by
    // `owner`.
    std::string lease{};
};

struct waiter_info {
    std::string owner;
    std::string host;
    std::int64_t pid = 0;
    std::optional<std::chrono::milliseconds> waiting;
};

struct lock_info {
    lock_name name;
    // "mutex", "recursive_mutex", "foreign string", ...; "free" if the lock is not held; "no lock: ..." for a
    // key that the clients use internally.
    std::string layout;
    bool ours = false;  // written by a holdfast client
    std::vector<holder_info> holders;
    std::optional<std::chrono::milliseconds> ttl;  // empty: no expiry
    std::vector<waiter_info> queue;
    std::optional<std::uint64_t> last_fence;
    std::optional<std::int64_t> count;  // free permits, or the count of a latch
    std::uint64_t more_holders = 0;     // holders that were too many to be listed
    std::uint64_t more_waiting = 0;     // waiters that were too many to be listed
    std::uint64_t bytes = 0;            // the size of a foreign string
    // A free fair mutex may have this many dead waiters at the head of its queue. Redisson's clients wait
    // another blocked_for for them (empty: for ever), holdfast's wait redis_settings::fair_liveness.
    std::uint64_t dead_waiters = 0;
    std::optional<std::chrono::milliseconds> blocked_for{};

    // A foreign string that does not expire or is longer than an owner token: it may be data.
    [[nodiscard]] bool may_be_data() const { return layout == "foreign string" && (!ttl || bytes > 512); }
};

// Which keys list() returns.
enum class listed {
    locks,          // keys whose form says that they are locks
    foreign_texts,  // also strings that expire and look like an owner token
};

}  // namespace holdfast
