// Several locks as one.
#pragma once

#include <holdfast/mutex.hpp>

#include <concepts>
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

// What became of one lock of a multi_lock that could not be acquired.
struct member_outcome {
    lock_name name{"?"};
    enum {
        given_back,    // was held, and is released again
        not_acquired,  // `why` says why
        not_asked,     // it was not its turn yet
    } what = not_asked;
    std::error_code why{};
};

// What the acquisitions of a multi_lock throw: code and sentence are those of the one that could not be had.
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
    // Called whenever a lock of them is held by somebody else and is waited for while those before it are
    // held: on the thread that acquires, or for async_acquire on the client's thread for callbacks, perhaps a
    // moment after the acquisition has ended. What it throws is dropped.
    std::function<void(const lock_name&)> on_wait{};
    // While some of them are held the next is waited for no longer than this, half to one and a half times;
    // then all are given back, and it begins again. 1 ms or more.
    std::chrono::milliseconds patience{10'000};
};

// All of several locks, or none: of any kinds, clients and stores. The same as Redisson's MultiLock.
//
//     holdfast::multi_lock both{from, to};
//     std::lock_guard hold{both};
//
// They are taken one after the other in one order, that of their names, whatever the order in which they
// were given; so two who want the same ones never wait for each other for ever. (Who orders them otherwise,
// as Redisson does, or with another spelling of a URL: see multi_options::patience.) A round trip each.
//
// One lease stands for all of them: it is valid() while all are, lost when one is, and its deadline is the
// earliest. A ttl counts from when all are held. release() gives all back, the last first, and tells the
// worst that happened; owner() is empty and fence() is fence::none: fences() has those of the members.
// acquire_options::permits is for the semaphores among them; with one there is no lock().
//
// An acquisition in which a lock could not be had throws multi_error, and nothing stays held. The lock
// objects need not live as long as this one; their clients must. Thread safety: as all locks.
//
// It does not make several servers safer than one, since it needs each of them.
class HOLDFAST_API multi_lock : public detail::exclusive {
  public:
    template <class... Locks>
    requires(sizeof...(Locks) > 0 &&
             (std::derived_from<Locks, detail::leasable> && ...)) explicit multi_lock(Locks&... locks)
        : multi_lock(std::vector<const detail::leasable*>{static_cast<const detail::leasable*>(&locks)...}) {}
    // Throws errc::invalid_argument for none, and for a lock that is given twice.
    explicit multi_lock(std::span<const detail::leasable* const> locks, multi_options options = {});

    // The fences of the locks, in the order in which the locks were given. `held` is a lease of this
    // multi_lock, else errc::not_owner is thrown.
    [[nodiscard]] std::vector<fence> fences(const lease& held) const;
    // The same for how each of them stands: which one was lost, when the lease is.
    [[nodiscard]] std::vector<lease_state> states(const lease& held) const;
    [[nodiscard]] std::size_t size() const noexcept;

  private:
    [[nodiscard]] const session::group& group() const noexcept;
};

}  // namespace holdfast
