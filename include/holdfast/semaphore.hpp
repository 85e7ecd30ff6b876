// Locks that a number of holders have at a time.
#pragma once

#include <holdfast/leasable.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>

namespace holdfast {

struct semaphore_options {
    std::optional<std::chrono::milliseconds> ttl{};  // default of acquire_options::ttl for this semaphore
    std::optional<bool> renew{};                     // default of acquire_options::renew
    // How many permits there are in all: who acquires sets their number, if nobody has set it. Also while it
    // waits, should a server that has lost its data not know it any more.
    std::optional<std::int64_t> total{};
    replication replicas{};  // who must have a grant before it counts
};

namespace detail {

// What the two semaphores share. Permits are acquired as a lease, acquire_options::permits at once: they come
// back when it is released, and by themselves when it ends, so a holder that was killed costs its permits for
// no longer than its lease. Those who wait in one process are served in their order; between processes there
// is no order, and who wants many may wait as long as others that want few keep coming.
//
// A semaphore has no permits until somebody sets their number (try_set_permits, semaphore_options::total);
// who acquires waits until then. Counting operations block for a round trip, at most config::answer_timeout,
// and throw holdfast::error. One that is repeated because its answer was lost counts once.
class HOLDFAST_API any_semaphore : public leasable {
  public:
    // True: there are `permits` now (0 or more). False: the number was set before, and stays.
    bool try_set_permits(std::int64_t permits);
    // That many more, or fewer if negative. Returns how many are free now; negative while more are out than
    // there should be.
    std::int64_t add_permits(std::int64_t permits);
    [[nodiscard]] std::int64_t available_permits();

  protected:
    any_semaphore(client& on, lock_name name, kind of, const semaphore_options& options);
    ~any_semaphore() = default;
};

}  // namespace detail

// The same semaphore as Redisson's RSemaphore, in which nobody owns a permit: Java's acquire() and release()
// are take() and give() here. Permits of a lease are written down beside it; Java sees that they are out, and
// they come back as soon as somebody uses the semaphore with holdfast. At most 1,000,000,000 at once.
class HOLDFAST_API counting_semaphore : public detail::any_semaphore {
  public:
    counting_semaphore(client& on, lock_name name, semaphore_options options = {});

    // Takes all that are free, and returns how many (negative if there were fewer than none).
    std::int64_t drain_permits();

    // --- without an owner: permits that only give() brings back, of whichever process --------------
    // Blocks until it has them. With a stop token: until that asks to stop, then errc::cancelled is thrown.
    void take(std::uint32_t permits = 1, const std::stop_token& stop = {});
    [[nodiscard]] bool try_take(std::uint32_t permits = 1);
    template <class Rep, class Period>
    [[nodiscard]] bool try_take_for(const std::chrono::duration<Rep, Period>& wait, std::uint32_t permits = 1,
                                    const std::stop_token& stop = {}) {
        return take_until_(after_(wait), permits, stop);
    }
    void give(std::uint32_t permits = 1);

  private:
    bool take_until_(time_point until, std::uint32_t permits, const std::stop_token& stop);
};

// The same semaphore as Redisson's RPermitExpirableSemaphore: every permit has an id and a time when it comes
// back. lease::owner() is the id as Java shows it; of n permits that of the first and "*n" behind it, and the
// others have the numbers that follow. At most 1,000 at once.
class HOLDFAST_API permit_semaphore : public detail::any_semaphore {
  public:
    permit_semaphore(client& on, lock_name name, semaphore_options options = {});

    // Gives back what another process acquired: Java's permit (32 hexadecimal digits) or ours
    // (lease::owner()). False: it had come back before. Throws errc::invalid_argument for what is no id.
    bool give_back(std::string_view id);
};

}  // namespace holdfast
