// The proof of holding a lock for a time, and what became of it.
#pragma once

#include <holdfast/export.hpp>
#include <holdfast/types.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace holdfast {

class error;

namespace session {
class hold;
}

// How an acquisition is to be made. All of it may be left out.
struct acquire_options {
    // Hold for this long and do not renew (Redisson's leaseTime). Empty: the lock's or the client's
    // lease, renewed while held. 1 ms or more; beyond a year it is cut to a year.
    std::optional<std::chrono::milliseconds> ttl{};
    // Overrides the rule above: renew although a ttl is given, or do not although none is.
    std::optional<bool> renew{};
    // Ends the wait with errc::cancelled when asked to.
    std::stop_token stop{};
    // How many permits of a semaphore to take: 1 or more. For every other lock more than 1 is
    // errc::invalid_argument.
    std::uint32_t permits = 1;
};

//            | valid()   | lost() asked | release()
// empty      | false     | no           | already_lost
// held       | true      | no           | released
// jeopardy   | true      | no           | released or unknown_until: renewal is failing, time is left
// lost       | false     | yes, soon    | already_lost
// released   | false     | no           | the same answer as the first time
enum class lease_state { empty, held, jeopardy, lost, released };

enum class release_outcome {
    released,      // nobody else had it before we gave it back
    already_lost,  // the lease had ended; somebody else may have held it meanwhile
    // No answer, or the store refused to do it. The store frees it at `until` at the latest, never later:
    // `until` counts each request of this client that has no answer as if it waited config::answer_timeout
    // for a connection and arrived a minute after that, which is how long a connection that is given up, or a
    // server that stands still, may keep it. So `until` may be later than the end of the lease by a minute
    // and answer_timeout. Usually the store frees it when the lease is over.
    unknown_until,
};

struct release_result {
    release_outcome outcome = release_outcome::already_lost;
    boot_clock::time_point until{};  // with unknown_until
    // With unknown_until: what the server said when it refused. Empty if no server spoke.
    std::shared_ptr<const error> refusal{};

    friend bool operator==(const release_result& r, release_outcome o) noexcept { return r.outcome == o; }
    explicit operator bool() const noexcept { return outcome == release_outcome::released; }
};

// Move-only; the empty one is what an unsuccessful try gives. Destruction releases, and reports what
// goes wrong to the client's events; who must know calls release(). It blocks as release() does, but for a
// lease of async.hpp: that one is given back without waiting.
//
// Thread safety: valid(), remaining(), state(), fence() and lost() may be called from any threads at
// once; moving, assigning, releasing and destroying is for one thread at a time, not always the same.
class [[nodiscard]] HOLDFAST_API lease {
  public:
    lease() noexcept = default;
    lease(lease&&) noexcept = default;
    lease& operator=(lease&& other) noexcept;
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    ~lease();

    // Got the lock (which says nothing about now: ask valid()).
    explicit operator bool() const noexcept { return hold_ != nullptr; }

    // True while nobody else can hold the lock, under the assumptions of docs/safety.md S2. Exact: it
    // compares the clock with a deadline, so a process that was stopped is told at once. Does not block.
    [[nodiscard]] bool valid() const noexcept;
    // Time left of the lease if it is not renewed any more; zero or more. Does not block.
    [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;
    [[nodiscard]] boot_clock::time_point deadline() const noexcept;
    [[nodiscard]] lease_state state() const noexcept;

    // Asked to stop soon after the lease is lost, on a thread of the client's own. valid() is earlier.
    // The callbacks of one lease run one after another. While one of them blocks, those of another lease wait
    // config::slow_callback at most and run on another thread; when 16 block, the next wait for one to end.
    [[nodiscard]] std::stop_token lost() const noexcept;

    // Grows with every grant, for locks made with .fenced; fence::none for others.
    [[nodiscard]] holdfast::fence fence() const noexcept;
    [[nodiscard]] holdfast::strength strength() const noexcept;
    [[nodiscard]] const owner_id& owner() const noexcept;
    // Replicas that had confirmed the grant when it was given: 0 unless the lock asks for some
    // (replication.hpp). For a multi_lock: the fewest.
    [[nodiscard]] std::uint32_t acks() const noexcept;

    // Gives the lock back. Blocks for a round trip, at most config::answer_timeout. Never throws for
    // what the store does; a second call gives the first answer again.
    release_result release() noexcept;

    // For the library's own parts.
    explicit lease(std::shared_ptr<session::hold> hold) noexcept : hold_(std::move(hold)) {}
    [[nodiscard]] const std::shared_ptr<session::hold>& hold() const noexcept { return hold_; }
    [[nodiscard]] std::shared_ptr<session::hold> take() noexcept { return std::exchange(hold_, nullptr); }

  private:
    void drop() noexcept;

    std::shared_ptr<session::hold> hold_;
};

}  // namespace holdfast
