// The requests of operators to a store: to show locks, to evict holders, and to report what endangers locks.
// A store that cannot do this does not implement the interface.
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
    all,   // as many as the store can list, for an eviction, which decides once which of them to evict
};

// The result of asking a holder's client to give up.
struct asked {
    bool holds = false;           // the owner still holds the lock
    std::uint32_t listeners = 0;  // clients that received it; 0 also if it may not, or cannot yet, be sent
    std::optional<milliseconds> left;  // time left of the lease; empty: no expiry
    // The holder's client has confirmed, now or before, that it ended the lease because of the message.
    // Nothing else proves it: a lock may be gone for many reasons.
    bool gave_up = false;
};

// A holder from which the lock was taken.
struct evicted {
    std::string owner;                   // empty: a dead waiter
    std::optional<milliseconds> left{};  // see released::left
};

// The role of a server that is part of another store.
struct membership {
    std::string of;  // "the redlock"
    // The other store keeps a key there, as a mutex of this name; without it the server has no vote.
    lock_name mark;
    // The kinds of lock that the other store keeps there. Its waiters only poll: they use neither queues nor
    // messages.
    std::vector<kind> kinds{};
    // The other store asks for the age of promotions. Where it has no right to, each client waits for this
    // long after a promotion.
    std::optional<milliseconds> grace{};
};

// What to examine, and the values to compare with.
struct examine_request {
    std::optional<lock_name> name;  // check the user's rights to its keys; empty: no particular lock
    std::optional<kind> of;  // the kind of that lock; empty: judge by a mutex, and mention the other kinds
    milliseconds lease{0};   // of locks in this store
    milliseconds drift{0};   // the clock drift within such a lease that leases allow for
    std::optional<membership> part{};
};

// Requests work as in store.hpp.
class inspection {
  public:
    inspection() = default;
    inspection(const inspection&) = delete;
    inspection& operator=(const inspection&) = delete;
    virtual ~inspection() = default;

    // The lock of any kind with this name; "free" if there is none.
    virtual void inspect(const lock_name&, holders_shown, time_point deadline,
                         handler<result<lock_info>>) = 0;

    // Names of locks that match a glob ("*" and "?"), read in pages so that no server is blocked.
    virtual void list(const std::string& glob, listed which, time_point deadline,
                      handler<result<std::vector<lock_info>>>) = 0;

    // Sends a message to the client of a holder that inspect() has shown, if the holder still holds the lock.
    // The client ends the lease at once, confirms it (asked::gave_up) and releases the lock. Repeat the call:
    // the acquisition may be under way, and this client may not be able to receive the answer yet. Without
    // holder_info::ask_at no message is sent; the answer still tells whether the client has confirmed.
    virtual void ask_to_give_up(const lock_name&, const holder_info&, time_point deadline,
                                handler<result<asked>>) = 0;

    // Takes the lock from those of `owners` (as inspect() shows them) that hold it, and from no other owner.
    // Answers which owners it was taken from.
    virtual void evict(const lock_name&, const std::vector<std::string>& owners, time_point deadline,
                       handler<result<std::vector<evicted>>>) = 0;

    // For a fair mutex that is free: finds the owners at the head of its queue that are absent. Removes those
    // of `absent` that are still absent from the head, and answers which owners it removed.
    virtual void clear_line(const lock_name&, const std::vector<std::string>& absent, time_point deadline,
                            handler<result<std::vector<std::string>>>) = 0;

    // A lease on this lock has been held for a while: the store must receive messages that ask for it from
    // now on. True: it receives those for all other locks, too. False: it is asked again with the next lease.
    virtual bool hear_requests_for(const lock_name&) = 0;

    // Reports what endangers locks on the store's servers. Changes nothing there. Data that a server hides
    // from the client is a finding; a failure means that there is no server to examine.
    virtual void examine(const examine_request&, time_point deadline, handler<result<examination>>) = 0;
};

}  // namespace holdfast::backend
