// A lease: the proof of holding a lock for a time, and how it ended.
#pragma once

#include <holdfast/export.hpp>
#include <holdfast/types.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace holdfast {

class error;

namespace session {
class hold;
}
namespace detail {
class access;
}

// Options of an acquisition. All are optional.
struct acquire_options {
    // Hold for this long and do not renew (Redisson's leaseTime). Empty: the lease of the lock or the client,
    // renewed while held. 1 ms or more; more than a year is cut to a year.
    std::optional<std::chrono::milliseconds> ttl{};
    // Overrides the rule above: renew although a ttl is given, or do not renew although none is.
    std::optional<bool> renew{};
    // A stop request ends the wait with errc::cancelled.
    std::stop_token stop{};
    // A weaker grant is refused with errc::too_weak: for locks whose policy can give one (policy.hpp).
    strength at_least = strength::process_local;
    // How many permits of a semaphore to take: 1 or more. For any other lock more than 1 is
    // errc::invalid_argument.
    std::uint32_t permits = 1;
};

//          | valid() | lost_token() asked | release()
// empty    | false   | no                 | already_lost
// held     | true    | no                 | released
// jeopardy | true    | no                 | released or unknown_until: renewal is failing, time is left
// lost     | false   | yes, soon          | already_lost
// released | false   | no                 | the same answer as the first time
enum class lease_state { empty, held, jeopardy, lost, released };

enum class release_outcome {
    released,      // no other owner held the lock before this release
    already_lost,  // the lease had ended; another owner may have held the lock since
    // No answer, or the store refused. The store frees the lock at `until` at the latest. `until` counts each
    // unanswered request of this client as if it waited config::answer_timeout for a connection and arrived a
    // minute after that: a connection that was given up, or a server that stands still, may delay it that
    // long. So `until` may be a minute and answer_timeout later than the end of the lease. Usually the store
    // frees the lock when the lease is over.
    unknown_until,
};

struct release_result {
    release_outcome outcome = release_outcome::already_lost;
    boot_clock::time_point until{};  // with unknown_until
    // With unknown_until: the server's refusal. Empty if the server sent none.
    std::shared_ptr<const error> refusal{};

    friend bool operator==(const release_result& r, release_outcome o) noexcept { return r.outcome == o; }
    explicit operator bool() const noexcept { return outcome == release_outcome::released; }
};

// Move-only; an unsuccessful try returns an empty lease. The destructor releases the lock and reports errors
// to the client's events; call release() to learn the result. The destructor blocks as release() does, except
// that of a lease of async.hpp: it does not wait for the release.
//
// Thread safety: valid(), remaining(), state(), fence() and lost_token() may be called from any threads at
// once, also while another thread releases or renews; only one thread at a time, not always the same, may
// move, assign, renew, release and destroy.
class [[nodiscard]] HOLDFAST_API lease {
  public:
    lease() noexcept = default;
    lease(lease&&) noexcept = default;
    lease& operator=(lease&& other) noexcept;
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    ~lease();

    // True if the lock was acquired. Whether it still is held: valid().
    explicit operator bool() const noexcept { return hold_ != nullptr; }

    // True while nobody else can hold the lock, under the assumptions of docs/safety.md S2. Exact: it
    // compares the clock with a deadline, so it is right at once in a process that was stopped. Does not
    // block.
    [[nodiscard]] bool valid() const noexcept;
    // Time left of the lease if it is not renewed again; zero or more. Does not block.
    [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;
    [[nodiscard]] boot_clock::time_point deadline() const noexcept;
    [[nodiscard]] lease_state state() const noexcept;

    // Stop is requested soon after the lease is lost, on a thread of the client's own; valid() is false
    // before that. The callbacks of one lease run one after another. While one of them blocks, those of
    // another lease wait at most config::slow_callback and run on another thread; while 16 block, the next
    // wait for one of them to end.
    [[nodiscard]] std::stop_token lost_token() const noexcept;

    // Grows with every grant of a lock made with .fenced; fence::none for other locks.
    [[nodiscard]] holdfast::fence fence() const noexcept;
    [[nodiscard]] holdfast::strength strength() const noexcept;
    [[nodiscard]] const owner_id& owner() const noexcept;
    // The kind of store that granted it: the scheme of the client's URL, such as "redis" or "local". Empty
    // for an empty lease, and for one of a multi_lock over different kinds of store.
    [[nodiscard]] std::string store() const;
    // Replicas that had confirmed the grant when it was made: 0 unless the lock requires some
    // (replication.hpp). For a multi_lock: the smallest number of its members.
    [[nodiscard]] std::uint32_t acks() const noexcept;

    // Renews now, for as long as was asked for when the lock was acquired, also if it is not renewed by
    // itself. Blocks for a round trip, at most config::answer_timeout. True: the store has confirmed that the
    // lock is held, and deadline() counts from this request. False: the lock is lost, or the store did not
    // answer, or refused; state() tells them apart. A multi_lock renews its members one after another. For a
    // step that must not begin with little time left, and for the whole lease of a lock that was handed off
    // (3 s until its first renewal). Throws only for want of memory.
    bool renew();

    // Releases the lock. Blocks for a round trip, at most config::answer_timeout. Does not throw for errors
    // of the store; a second call returns the first result again.
    release_result release() noexcept;

  private:
    friend class detail::access;

    explicit lease(std::shared_ptr<session::hold> hold) noexcept : hold_(std::move(hold)) {}
    void drop() noexcept;

    std::shared_ptr<session::hold> hold_;
};

}  // namespace holdfast
