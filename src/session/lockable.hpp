// The implementation of a user's lock object: the client lock of one lock, or a group of several.
#pragma once

#include "session/hold.hpp"

#include <holdfast/callback.hpp>
#include <holdfast/multi_lock.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::session {

// The options of one acquisition.
struct acquisition {
    std::optional<time_point> give_up_at;  // empty: one try
    std::optional<milliseconds> ttl;       // empty: the client's lease
    std::optional<bool> renew;             // empty: renew only without a ttl
    bool poll = false;                     // do not listen for messages
    bool by_thread = false;                // held by this thread: may re-enter, and ends with it
    std::uint32_t permits = 1;             // of a semaphore
    std::optional<std::int64_t> total{};   // initial number of permits of a semaphore whose number is not set
    replication replicas{};                // replicas that must have the grant
    strength at_least = strength::process_local;
    std::stop_token stop{};
    owner_id downgrading_from{};  // the writer of a shared mutex that wants to read as well; empty: none
};

// Why the lock was not acquired. errc::timed_out: another owner has it.
struct failed {
    std::error_code why;
    std::string sentence;
    std::string server_text;
    std::shared_ptr<const std::vector<member_outcome>> members{};  // of a group; empty for one lock
};

// An acquisition without a waiting thread.
class under_way {
  public:
    under_way() = default;
    under_way(const under_way&) = delete;
    under_way& operator=(const under_way&) = delete;
    virtual ~under_way() = default;
    // From any thread, at any time. The acquisition still ends: with errc::cancelled, or with the lock if
    // that came first.
    virtual void cancel() = 0;
};

// Thread-safe.
class lockable {
  public:
    // The hold is empty for a lock that the thread holds by lock(); the lock keeps it.
    using outcome = std::variant<std::shared_ptr<hold>, failed>;
    // What this thread holds by lock().
    struct thread_status {
        bool valid = false;
        holdfast::fence fence = holdfast::fence::none;
    };

    lockable() = default;
    lockable(const lockable&) = delete;
    lockable& operator=(const lockable&) = delete;
    virtual ~lockable() = default;

    [[nodiscard]] virtual const lock_name& name() const noexcept = 0;
    // Throws errc::forked in a child process and errc::closed after the client's end.
    virtual void check_usable() const = 0;
    // Blocks as `how` says. Re-enters if this thread holds it by lock() and the kind is reentrant.
    [[nodiscard]] virtual outcome acquire(const acquisition& how) = 0;
    // The same without a waiting thread: `done` is called once, on any thread, perhaps before this returns.
    // Never re-enters. The result cancels the acquisition.
    virtual std::shared_ptr<under_way> acquire_later(const acquisition& how,
                                                     callback<void(outcome)> done) = 0;
    // Ends this thread's latest hold by lock().
    virtual void unlock() noexcept = 0;
    // Empty: this thread does not hold it.
    [[nodiscard]] virtual std::optional<thread_status> held_here() const = 0;
};

}  // namespace holdfast::session
