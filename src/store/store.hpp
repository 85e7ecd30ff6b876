// The seam: what a store must be able to do so that every kind of lock can stand on it. Users of locks need
// nothing from here; authors of stores need nothing else. A new store is a folder in src/backends and a row
// in src/backends/registry.cpp.
//
// Requests: each returns at once and calls its handler exactly once, on any thread, perhaps before it has
// returned. Handlers are short and never block. A blocking caller lends its thread to the store's I/O by
// run_io() and so reads its own answer: a request that is made on any other thread than the client's own must
// be followed by run_io() on that thread. `deadline`: after it nobody waits for the answer; the handler is
// still called, late or with `unknown`.
#pragma once

#include "store/requests.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace holdfast::base {
class parker;  // One thread waits in it, any thread ends the wait. See src/base/parker.hpp.
}  // namespace holdfast::base

namespace holdfast::backend {

class counters;
class inspection;
class redlock_member;

// Keeps a subscription alive; destroying it ends it. No handler call starts afterwards, but one that runs on
// another thread may end later.
class watch_handle {
  public:
    watch_handle() = default;
    watch_handle(const watch_handle&) = delete;
    watch_handle& operator=(const watch_handle&) = delete;
    virtual ~watch_handle() = default;
};

// What ends a lease that is not released.
enum class lease_end {
    by_time,     // the store does, by its clock
    by_session,  // the store does when the client's session ends; a lease whose ttl is over is released by
                 // the client
};

// Whose clock counts a lease.
enum class lease_clock {
    of_a_server,   // leases are shortened by config::drift
    of_this_host,  // the same as that of its clients
};

// What the client must know of a store. Constant while the store is open.
struct capabilities {
    strength gives = strength::single;
    lease_end ends = lease_end::by_time;
    lease_clock counted_by = lease_clock::of_a_server;
    // Zero: the store tells waiters by messages when to try again (`watch`). More: it has none, and a waiter
    // asks this often.
    milliseconds ask_every{0};
    // Renewals that go into one call of `renew`: as many as keep no other client of the server waiting.
    std::uint32_t renewals_at_a_time = 100;
    bool replicas = false;  // can say how many replicas have a grant
    // A grant with a fence leaves room for so many fences, the first of them its own: a client passes the
    // lock on from thread to thread with consecutive ones. 1: it is not passed on.
    std::uint32_t fences_per_grant = 1;
    // Each attempt is a vote of its own: it wants a new owner, and the store itself undoes what was not
    // granted. There is no queue, and there are no messages.
    bool votes = false;
};

// A change that a store reports to its client, which makes it an event (event.hpp).
struct notice {
    enum class change {
        link_up,  // connected, or connected again: renewals are due at once
        link_down,
        restarted,         // the server is another process than before; it may have lost its data
        failed_over,       // another server is the master now; it may lack what was granted last
        eviction_risk,     // the server drops keys when its memory is full
        no_channel_right,  // messages cannot be used; waiters poll
        evicted,       // an operator asks the holder to give up: `owner`, or each lease whose owner begins
                       // with `owner` and "*". See inspection::ask_to_give_up
        session_lost,  // by a store whose leases end with the session: all of them have ended
        quorum_weak,   // see event_kind
        quorum_whole,
        quorum_double,
        quorum_even,
    } what;
    std::string detail{};  // with evicted: nothing
    owner_id owner{};
    // With link_up: which run of which server it is, and its uptime as the server tells it. Empty if the
    // server does not tell.
    std::string run_id{};
    std::chrono::seconds uptime{0};
    // With link_up: names the promotion that made the server a master in this run; each promotion has a new
    // name. Empty if it was not promoted. The name does not tell when that was.
    std::string promotion{};
    bool replica = false;      // with link_up: it takes no writes
    std::error_code reason{};  // with link_down: what somebody must mend, if anything
    // With evicted: confirms to the operator that the lease has ended. To be called only when it has, and
    // before the lock is released.
    std::function<void()> say_so{};
};

struct traffic {
    std::uint64_t requests = 0;              // sent since the store was opened
    std::chrono::nanoseconds round_trip{0};  // a recent average; 0 when there is none
};

class store {
  public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    [[nodiscard]] virtual const capabilities& has() const noexcept = 0;
    [[nodiscard]] virtual traffic statistics() const noexcept = 0;

    // The text of a new owner for this kind, which will ask for this many permits. No other owner ever has
    // the same. Any thread.
    [[nodiscard]] virtual owner_id new_owner(kind, std::uint32_t permits) = 0;

    // Takes the lock for an owner if it is free. May be repeated with the same owner until an answer comes.
    virtual void attempt(const attempt_request&, time_point deadline, handler<attempt_answer>) = 0;

    // Prolongs leases. The answers stand in the order of the requests and come together: requests that may
    // fail alone are made alone. May be repeated.
    virtual void renew(std::span<const renew_request>, time_point deadline,
                       handler<std::vector<renew_answer>>) = 0;

    // Gives the lock back, or hands it to the next waiter where the store keeps a queue. Repeated, it answers
    // not_held.
    virtual void release(const release_request&, time_point deadline, handler<release_answer>) = 0;

    // Reports messages for a waiter until the handle is destroyed. Keep the handle until the release of the
    // owner was sent: the store takes a message for an owner that nobody watches for a grant that nobody
    // wants, and gives the lock back.
    [[nodiscard]] virtual std::unique_ptr<watch_handle> watch(const lock_key&, const owner_id&,
                                                              handler<watch_event>) = 0;

    // Lends the calling thread to the store's I/O until `me` is unparked or `until` has come. May return
    // earlier: the caller looks for itself.
    virtual void run_io(base::parker& me, time_point until) = 0;

    // Where leases end with the session: how long after the client's last word the store ends it at most.
    [[nodiscard]] virtual milliseconds session_timeout() const noexcept { return milliseconds{0}; }

    // A message about a lock of this kind wakes all its waiters, in the same order each time, and only some
    // of them are served: each pauses for a random time before it tries again.
    [[nodiscard]] virtual bool wakes_all(kind) const noexcept { return false; }

    // Clients of other makes take a lock of this kind from its holder by an ordinary command: the store is
    // asked before one thread hands it off to the next.
    [[nodiscard]] virtual bool taken_by_force(kind) const noexcept { return false; }

    // Locks with the same number are in one place, and out of reach together.
    [[nodiscard]] virtual std::uint32_t shard_of(const lock_key&) const { return 0; }

    // Why there are no locks of this kind in this store, for people. Empty: there are.
    [[nodiscard]] virtual std::string_view unsupported(kind) const noexcept { return {}; }

    // What the store's clients themselves keep under this name, which no lock may have. Empty: nothing.
    [[nodiscard]] virtual std::string_view reserved_for(const lock_name&) const { return {}; }

    // True while something that nobody waits for is on its way to a server: the client's destructor gives it
    // config::close_timeout.
    [[nodiscard]] virtual bool has_pending() const noexcept { return false; }

    // Lets go of everything in a forked child without touching the parent's connections. The destructor is
    // not called afterwards.
    virtual void abandon() noexcept = 0;

    // What not every store can do: nullptr where it cannot.
    [[nodiscard]] virtual counters* as_counters() noexcept { return nullptr; }
    [[nodiscard]] virtual inspection* as_inspection() noexcept { return nullptr; }
    [[nodiscard]] virtual redlock_member* as_redlock_member() noexcept { return nullptr; }
};

}  // namespace holdfast::backend
