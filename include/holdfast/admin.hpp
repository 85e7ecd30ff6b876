// Looking at locks and taking them away: for operators and their tools.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/examination.hpp>
#include <holdfast/export.hpp>
#include <holdfast/kind.hpp>
#include <holdfast/lock_info.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// Every call blocks for a few round trips, at most config::answer_timeout each, and throws holdfast::error.

// The holders and the waiters of a lock. A name that nobody holds gives a lock_info with layout "free".
[[nodiscard]] HOLDFAST_API lock_info inspect(client& on, const lock_name& name);

// Locks whose names match a glob ('*', '?'), in no order, without queues. Does not hold up the server (SCAN).
// Also fair mutexes that are free and have dead_waiters, as "free".
// Strings of other clients are left out: without a form of their own, locks among them cannot be told from
// data. listed::foreign_texts adds those that expire and look like the token of a lock.
[[nodiscard]] HOLDFAST_API std::vector<lock_info> list(client& on, const std::string& glob = "*",
                                                       listed which = listed::locks);

struct evict_options {
    // Take the lock only from these owners (holder_info::owner): those that inspect() has shown and a person
    // has agreed to. An owner that comes meanwhile keeps the lock. Likewise of a line the dead waiters
    // (waiter_info::owner). Empty: from whoever holds it when this begins.
    std::vector<std::string> owners{};
    // Also remove a string for which lock_info::may_be_data() is true. Else that is errc::wrong_kind.
    bool force = false;
};

// A holder that an eviction has ended.
struct evicted_holder {
    enum class way {
        gave_up,      // its client said that it has ended the lease, because it was asked
        silent,       // it got the message and neither said so nor released within a second: removed
        unreachable,  // its client does not listen, or is of another make: removed without being asked
    };
    holder_info who;
    way how = way::unreachable;
    // For how long a holder that was removed may go on as if it held the lock: what its lease had left when
    // it was removed. A client of ours learns of it at its next renewal, which is earlier. Empty: it gave up,
    // or its lease has no end.
    std::optional<std::chrono::milliseconds> may_go_on;
};

struct eviction {
    std::vector<evicted_holder> from;  // empty: the lock was taken from nobody
    // Held the lock when this began and ended meanwhile, not by this eviction: its client released the lock
    // or let the lease expire, or somebody else removed the lock or evicted the holder. Where the lock was
    // removed, the holder may go on until it learns of that.
    std::vector<holder_info> gone;
    // Holds the lock, and is none of evict_options::owners or came after this had begun.
    std::optional<holder_info> other;
    // All holders like that one, and those that are too many to be listed at a time.
    std::uint64_t not_shown = 0;
    std::uint64_t dead_waiters = 0;  // removed from the line of a fair mutex that is free
    std::uint64_t waiters_back = 0;  // had looked dead, and were back within a second: still in line

    // The lock was taken from somebody, or dead waiters were removed.
    explicit operator bool() const noexcept { return !from.empty() || dead_waiters > 0; }
};

// Takes the lock from whoever holds it and passes it to the next waiter. A holder of ours whose client
// listens (it has waited once, or has held a lock for 50 ms) is asked first: its lease ends at once, it says
// so, and it releases the lock itself (with config::keep_evicted when its work has stopped). Holders have a
// second for that, all together; then the lock is removed: until such a holder learns of it, two may believe
// to hold the lock. If a fair mutex is free, the dead waiters at the head of its line are removed: those for
// whom nobody listens, a second later still. Blocks for a second more than the other calls at most, and for
// two where both happens. All permits of a semaphore that have an owner come back; a number without any owner
// is errc::wrong_kind.
HOLDFAST_API eviction evict(client& on, const lock_name& name, const evict_options& options = {});

struct examine_options {
    std::optional<lock_name> name;  // also look up the user's rights to the keys and channels of this lock
    std::optional<holdfast::kind>
        kind;  // of that lock; else those of a mutex count, and others are mentioned
};

// What endangers locks on this client's servers, how to mend it, and which promise falls without it; all
// there is to look at, also what is well. Changes nothing on the server (docs/doctor.md says what it is
// asked). What a server refuses to tell is a finding and no error; errors are of a server that cannot be
// asked at all.
[[nodiscard]] HOLDFAST_API examination examine(client& on, const examine_options& options = {});

}  // namespace holdfast
