// What a store shows of a lock: holders, waiters, counters.
#pragma once

#include <holdfast/types.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// Whether a holder's client is connected to the store now.
enum class presence : std::uint8_t {
    unknown,  // the store does not tell, or the client is of another make
    connected,
    gone,
};

struct holder_info {
    std::string owner;
    std::uint32_t holds = 1;  // how often it was locked, or how many permits it has
    bool writes = false;      // the writer of a shared mutex; else a reader
    std::string host;         // empty when the store does not know
    std::int64_t pid = 0;
    std::optional<std::chrono::system_clock::time_point> since;  // when the holder asked for it, by its clock
    presence client = presence::unknown;
    std::string ask_at{};  // for evict(): where the holder's client receives messages; empty: nowhere
    // A lease of several permits is known to its client by the id of the first one, which stands here. Empty:
    // by `owner`.
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
    // "mutex", "recursive_mutex", "foreign string", ...; "free" when nobody holds it; "no lock: ..." for a
    // key that the clients keep for themselves.
    std::string layout;
    bool ours = false;  // written by a holdfast client
    std::vector<holder_info> holders;
    std::optional<std::chrono::milliseconds> ttl;  // empty: no expiry
    std::vector<waiter_info> queue;
    std::optional<std::uint64_t> last_fence;
    std::optional<std::int64_t> count;  // permits that are free, or what a latch waits for
    std::uint64_t more_holders = 0;     // holders that were too many to be listed
    std::uint64_t more_waiting = 0;     // waiters that were too many to be listed
    std::uint64_t bytes = 0;            // the size of a foreign string
    // A fair mutex that is free may have this many dead owners at the head of its line. Clients of Redisson
    // wait for them for blocked_for yet (empty: for ever), ours for config::fair_liveness.
    std::uint64_t dead_waiters = 0;
    std::optional<std::chrono::milliseconds> blocked_for{};

    // A foreign string that does not expire or is longer than a lock's token: it may be somebody's data.
    [[nodiscard]] bool may_be_data() const { return layout == "foreign string" && (!ttl || bytes > 512); }
};

// Which keys list() gives.
enum class listed {
    locks,          // those whose form says that they are locks
    foreign_texts,  // also strings that expire and hold what looks like a lock's token
};

}  // namespace holdfast
