// The interface of a store: what it must do so that every kind of lock works on it. Users of locks need
// nothing from here. docs/tour.md lists what else an author of a store opens.
//
// Requests: each may come from any thread, the reactor's too, and returns at once: it may use the disk of
// this machine, but does not wait for another process or machine. Arguments are valid until it returns. It
// calls its handler exactly once, on any thread, perhaps before it returns, and without holding a lock: a
// handler may make another request. Handlers are short and never block. A blocking caller lends its thread to
// the store's I/O by run_io() and so reads its own answer: a request that is made on any other thread than
// the client's own must be followed by run_io() on that thread.
//
// After `deadline` the caller does not wait for the answer; the handler is still called, late or with
// `unknown`. A request that was not sent by then is not sent any more. One that was sent may be carried out
// up to engine::longest_on_its_way later; `unknown` says so. Requests that one thread makes for one owner
// are carried out in their order, unless the store has to repeat one of them.
//
// The destructor calls all handlers that were not called yet (`refused` or `unknown` with errc::closed).
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
class parker;  // One thread waits in it; any thread ends the wait. See src/base/parker.hpp.
}  // namespace holdfast::base

namespace holdfast::backend {

class counters;
class inspection;
class linearizable_register;
class mode_switch;
class redlock_member;
class server_clock;

// Keeps a subscription alive; destroying it ends the subscription. No handler call starts afterwards, but a
// call that runs on another thread may end later.
class watch_handle {
  public:
    watch_handle() = default;
    watch_handle(const watch_handle&) = delete;
    watch_handle& operator=(const watch_handle&) = delete;
    virtual ~watch_handle() = default;
};

// What ends a lease that is not released.
enum class lease_end {
    by_time,     // the store ends it, by its clock
    by_session,  // the store ends it when the client's session ends; the client releases a lease whose ttl is
                 // over
};

// The clock that measures a lease.
enum class lease_clock {
    of_a_server,   // leases are shortened by config::drift
    of_this_host,  // boot_clock, by the store and its clients: config::drift is not subtracted
};

// Facts about a store that the client must know. Constant while the store is open.
struct capabilities {
    strength guarantee = strength::single;
    lease_end ends = lease_end::by_time;
    lease_clock counted_by = lease_clock::of_a_server;
    // Zero: the store notifies waiters by messages when to try again (`watch`). More: it sends no messages,
    // `watch` is not called, and a waiter polls at this interval.
    milliseconds ask_every{0};
    // Renewals in one call of `renew`: as many as do not delay other clients of the server.
    std::uint32_t renewals_at_a_time = 100;
    bool replicas = false;  // can say how many replicas have a grant
    // A grant with a fence reserves this many fences, the first of them its own: a client hands the lock off
    // from thread to thread with consecutive fences. 1: no hand-off between threads.
    std::uint32_t fences_per_grant = 1;
    // The fences of a mutex follow the time (see backends/common/fence_clock.hpp), and
    // adjustment::raise_fence raises them.
    bool fences_follow_time = false;
    // Each attempt is a separate vote: it needs a new owner, and the store itself undoes what was not
    // granted. There is no queue, and there are no messages.
    bool votes = false;
    // The writer of a shared mutex can become a reader, without a moment in which others can write.
    bool downgrades = true;
    // Permits may be taken that no lease owns, and their number may be changed.
    bool permits_without_owner = true;
    // A lock is held in a second place, too, where a lease that has run out must be released.
    bool in_two_places = false;
    // A place in the queue costs no more than a look, and a watch nothing: a caller that will wait begins
    // with both. A look of its own might be taken for a waiter, and lose the place.
    bool queues_at_once = false;
};

// A change that a store reports to its client, which turns it into an event (event.hpp).
struct notice {
    enum class change {
        link_up,  // connected or reconnected: renewals are due at once, and bounds may end earlier than
                  // before
        link_down,
        restarted,         // the server is a new process; it may have lost its data
        failed_over,       // another server is the master now; it may lack the latest grants
        eviction_risk,     // the server drops keys when its memory is full
        no_channel_right,  // messages cannot be used; waiters poll
        evicted,  // the holder must give up: `owner`, or each lease whose owner begins with `owner` and "*".
                  // See inspection::ask_to_give_up. With `detail`: because of that, and no operator asks
        session_lost,  // from a store whose leases end with the session: all of them have ended
        bounds_moved,  // bounds may end earlier than before
        switched,      // see event_kind
        source_down,   // likewise, and source_up
        source_up,
        restored,     // see event_kind; about the lease of `owner`
        overlap,      // likewise
        quorum_weak,  // see event_kind
        quorum_whole,
        quorum_double,
        quorum_even,
        clocks_apart,  // likewise
    } what;
    std::string detail{};
    owner_id owner{};
    // With link_up: identifies the run of the server, and its uptime as the server reports it. Empty if the
    // server does not report it.
    std::string run_id{};
    std::chrono::seconds uptime{0};
    // With link_up: names the promotion that made the server a master in this run; each promotion has a new
    // name. Empty if it was not promoted. The name does not say when that was.
    std::string promotion{};
    bool replica = false;      // with link_up: the server accepts no writes
    std::error_code reason{};  // with link_down, source_down: what an operator must fix, if anything
    // With evicted: confirms to the operator that the lease has ended. Call it only after the lease has
    // ended, and before the lock is released.
    std::function<void()> confirm{};
    // With evicted: called when the lease has ended. The client may keep the lock for a while after that.
    std::function<void()> ended{};
    bool ends_lease = false;  // with overlap
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

    // The text of a new owner for this kind, which will ask for this many permits. Each owner is unique. Any
    // thread may call this.
    [[nodiscard]] virtual owner_id new_owner(kind, std::uint32_t permits) = 0;

    // Takes the lock for an owner if it is free. The call may be repeated with the same owner until an answer
    // comes.
    virtual void attempt(const attempt_request&, time_point deadline, handler<attempt_answer>) = 0;

    // Renews leases. The answers are in the order of the requests and come together: a caller makes requests
    // that may fail alone in separate calls. The call may be repeated.
    virtual void renew(std::span<const renew_request>, time_point deadline,
                       handler<std::vector<renew_answer>>) = 0;

    // Releases the lock, or hands it to the next waiter if the store keeps a queue. A repeated release
    // answers not_held.
    virtual void release(const release_request&, time_point deadline, handler<release_answer>) = 0;

    // There is no memory to release the lock. Where leases end with the session, and would not end before,
    // the store does it by itself later; needs no memory.
    virtual void release_later(const lock_key&, const owner_id&) noexcept {}

    // Reports messages for a waiter until the handle is destroyed. Keep the handle until the release of the
    // owner was sent: if a message comes for an owner without a watch, the store takes it for an unwanted
    // grant and releases the lock.
    [[nodiscard]] virtual std::unique_ptr<watch_handle> watch(const lock_key&, const owner_id&,
                                                              handler<watch_event>) = 0;

    // Lends the calling thread to the store's I/O until `me` is unparked or `until` is reached. May return
    // earlier: the caller checks for itself.
    virtual void run_io(base::parker& me, time_point until) = 0;

    // Where leases end with the session: the longest time from the client's last message until the store ends
    // it.
    [[nodiscard]] virtual milliseconds session_timeout() const noexcept { return milliseconds{0}; }

    // A message about a lock of this kind wakes all its waiters, in the same order each time, and only some
    // of them get the lock: each pauses for a random time before it tries again.
    [[nodiscard]] virtual bool wakes_all(kind) const noexcept { return false; }

    // Clients of other libraries take a lock of this kind from its holder by an ordinary command: the client
    // asks the store before one thread hands the lock off to the next.
    [[nodiscard]] virtual bool taken_by_force(kind) const noexcept { return false; }

    // Locks with the same number are in one place and become unreachable together.
    [[nodiscard]] virtual std::uint32_t shard_of(const lock_key&) const { return 0; }
    // The server that has this lock now, for people, if it may fail while others of this store work. Empty:
    // there is one, or it is not known.
    [[nodiscard]] virtual std::string server_of(const lock_key&) const { return {}; }

    // Why this store has no locks of this kind: a clause for people, without a full stop. Empty: it has them.
    // Semaphores and latches need the interface `counters`, too.
    [[nodiscard]] virtual std::string_view unsupported(kind) const noexcept { return {}; }

    // What the store's clients keep under this name, which no lock may have. Empty: nothing.
    [[nodiscard]] virtual std::string_view reserved_for(const lock_name&) const { return {}; }

    // True while a request without a waiting caller is on its way to a server: the client's destructor waits
    // for it as long as config::close_timeout lets it.
    [[nodiscard]] virtual bool has_pending() const noexcept { return false; }

    // The client destroys the store next. The destructor may wait until then, so that others notice the end
    // at once; without this call it does not wait.
    virtual void leave_by(time_point) noexcept {}

    // Drops everything in a forked child without touching the parent's connections. The destructor is not
    // called afterwards. The child has copies of all descriptors: what the kernel frees at the last close of
    // a file, such as flock(2), is not free until the child has closed its copy, too.
    virtual void abandon() noexcept = 0;

    // Optional interfaces: nullptr where the store lacks them.
    [[nodiscard]] virtual counters* as_counters() noexcept { return nullptr; }
    [[nodiscard]] virtual inspection* as_inspection() noexcept { return nullptr; }
    [[nodiscard]] virtual redlock_member* as_redlock_member() noexcept { return nullptr; }
    [[nodiscard]] virtual linearizable_register* as_register() noexcept { return nullptr; }
    [[nodiscard]] virtual mode_switch* as_mode_switch() noexcept { return nullptr; }
    [[nodiscard]] virtual server_clock* as_server_clock() noexcept { return nullptr; }
};

}  // namespace holdfast::backend
