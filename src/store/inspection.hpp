// What operators ask of a store: to show locks, to take them away, to say what endangers them. A store that
// cannot implements nothing of this.
#pragma once

#include "store/requests.hpp"

#include <holdfast/examination.hpp>
#include <holdfast/lock_info.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::backend {

using holdfast::holder_info;
using holdfast::listed;
using holdfast::lock_info;
using holdfast::presence;
using holdfast::waiter_info;

enum class holders_shown {
    some,  // as many as a person reads
    all,   // as many as the store can tell, for an eviction: it decides once which of them it ends
};

// What came of asking a holder's client to give up.
struct asked {
    bool holds = false;           // the owner still holds the lock
    std::uint32_t listeners = 0;  // clients that got the message; 0 also if it may not be sent, or not yet
    std::optional<milliseconds> left;  // of the lease; empty: no expiry
    // The holder's client has said, now or before, that it has ended the lease because it was asked. Nothing
    // else says so: a lock may be gone for many reasons.
    bool gave_up = false;
};

// A holder from which the lock was taken.
struct evicted {
    std::string owner;                   // empty: a dead waiter
    std::optional<milliseconds> left{};  // see released::left
};

// How a server serves another store that it is a part of.
struct membership {
    std::string of;  // "the redlock"
    // The other store keeps a key there, as a mutex of this name; without it the server has no vote.
    lock_name mark;
    // The kinds of lock that the other store has there. Its waiters only ask again: they use neither lines
    // nor messages.
    std::vector<kind> kinds{};
    // The other store asks for the age of promotions; where it may not, each client waits for this long after
    // one.
    std::optional<milliseconds> grace{};
};

// What to examine, and what to measure it by.
struct examine_request {
    std::optional<lock_name> name;  // look up the user's rights to its keys; empty: no lock in particular
    std::optional<kind> of;         // that lock's kind; empty: a mutex counts, the others are mentioned
    milliseconds lease{0};          // of locks here
    milliseconds drift{0};          // the drift of two clocks within such a lease that leases allow for
    std::optional<membership> part{};
};

// Requests as in store.hpp.
class inspection {
  public:
    inspection() = default;
    inspection(const inspection&) = delete;
    inspection& operator=(const inspection&) = delete;
    virtual ~inspection() = default;

    // The lock of any kind under this name; "free" if there is none.
    virtual void inspect(const lock_name&, holders_shown, time_point deadline,
                         handler<result<lock_info>>) = 0;

    // Names of locks that match a glob ("*" and "?"), read in pages so that no server is held up.
    virtual void list(const std::string& glob, listed which, time_point deadline,
                      handler<result<std::vector<lock_info>>>) = 0;

    // Sends a message to the client of a holder that inspect() has shown, if the holder still holds the lock.
    // The client ends the lease at once, confirms it (asked::gave_up) and releases the lock. To be repeated:
    // the acquisition may be under way, and this client may not be able to receive the answer yet.
    virtual void ask_to_give_up(const lock_name&, const holder_info&, time_point deadline,
                                handler<result<asked>>) = 0;

    // Takes the lock from those of `owners` (as inspect() shows them) that hold it, and from nobody else.
    // Answers from whom it was taken.
    virtual void evict(const lock_name&, const std::vector<std::string>& owners, time_point deadline,
                       handler<result<std::vector<evicted>>>) = 0;

    // For a fair mutex that is free: finds the owners at the head of its line that are absent. Those of
    // `absent` that are still absent are removed from the head, and the answer is which ones.
    virtual void clear_line(const lock_name&, const std::vector<std::string>& absent, time_point deadline,
                            handler<result<std::vector<std::string>>>) = 0;

    // A lease on this lock has been held for a while: messages that ask for it must be received from now on.
    // True: those for all other locks are received, too.
    virtual bool hear_requests_for(const lock_name&) = 0;

    // What endangers locks on the store's servers. Changes nothing there. What a server does not let us see
    // is a finding; a failure means that there is no server to look at.
    virtual void examine(const examine_request&, time_point deadline, handler<result<examination>>) = 0;
};

}  // namespace holdfast::backend
