// Several locks as one.
#pragma once

#include <holdfast/mutex.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

namespace holdfast {

namespace session {
class group;
}

// The outcome for one lock of a multi_lock that could not be acquired.
struct member_outcome {
    lock_name name{"?"};
    enum {
        released,      // was acquired, and is released again
        not_acquired,  // `why` says why
        not_asked,     // its turn had not come yet
    } what = not_asked;
    std::error_code why{};
};

// Thrown by the acquisitions of a multi_lock: code and sentence are those of the lock that was not acquired.
class HOLDFAST_API multi_error : public error {
  public:
    multi_error(std::error_code code, const std::string& sentence, const std::string& server_text,
                std::shared_ptr<const std::vector<member_outcome>> members);
    ~multi_error() override;

    // In the order in which the locks were given to the multi_lock.
    [[nodiscard]] const std::vector<member_outcome>& members() const noexcept { return *members_; }

  private:
    std::shared_ptr<const std::vector<member_outcome>> members_;
};

struct multi_options {
    // Called whenever another owner holds a member and the multi_lock waits for it while it holds the members
    // before it. Runs on the thread that acquires; for async_acquire on the client's thread for callbacks,
    // perhaps a moment after the acquisition has ended. Its exceptions are ignored.
    std::function<void(const lock_name&)> on_wait{};
    // While some members are held, the wait for the next one lasts at most this long, times 0.5 to 1.5; then
    // all are released, and the acquisition starts again. 1 ms or more.
    std::chrono::milliseconds patience{10'000};
};

// All of several locks, or none: of any kinds, clients and stores. The same as Redisson's MultiLock.
//
//     holdfast::multi_lock both{from, to};
//     std::lock_guard hold{both};
//
// The locks are acquired one after the other in the order of their names, whatever the order in which they
// were given; so two callers that want the same locks never wait for each other for ever. (A caller may use
// another order, as Redisson does, or another spelling of a URL: see multi_options::patience.) A round trip
// each.
//
// One lease stands for all of them: it is valid() while all are, lost when one is, and its deadline is the
// earliest. A ttl counts from when all are held. release() releases all, the last first, and returns the
// worst outcome; owner() is empty and fence() is fence::none: fences() has those of the members.
// acquire_options::permits is for the semaphores among them; a multi_lock with a semaphore has no lock().
//
// If a lock cannot be acquired, the acquisition throws multi_error, and nothing stays held. The lock objects
// need not live as long as this one; their clients must. Thread safety: as all locks.
//
// A multi_lock does not make several servers safer than one, since it needs each of them.
class HOLDFAST_API multi_lock : public exclusive_lock {
  public:
    template <class... Locks>
    requires(sizeof...(Locks) > 0 && (lock_type<Locks> && ...)) explicit multi_lock(Locks&... locks)
        : multi_lock(std::vector<const leasable*>{static_cast<const leasable*>(&locks)...}) {}
    // Throws errc::invalid_argument if no lock is given, or if one is given twice.
    explicit multi_lock(std::span<const leasable* const> locks, multi_options options = {});

    // The fences of the locks, in the order in which the locks were given. Throws errc::not_owner if `held`
    // is not a lease of this multi_lock.
    [[nodiscard]] std::vector<fence> fences(const lease& held) const;
    // The same for the state of each lock: shows which one was lost.
    [[nodiscard]] std::vector<lease_state> states(const lease& held) const;
    [[nodiscard]] std::size_t size() const noexcept;

  private:
    [[nodiscard]] const session::group& group() const noexcept;
};

}  // namespace holdfast
