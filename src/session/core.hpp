// What one client has: its store, its reactor, its timetable of leases, its counters and events.
#pragma once

#include "base/annotations.hpp"
#include "engine/acquire.hpp"
#include "engine/watchdog.hpp"
#include "io/notifier.hpp"
#include "io/reactor.hpp"
#include "observe/bus.hpp"
#include "observe/counters.hpp"
#include "session/tenancy.hpp"

#include <holdfast/config.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

namespace holdfast::session {

class cell;

// Thread-safe. Outlives the client while leases of it are about; then it is closed and answers so.
class core : public std::enable_shared_from_this<core> {
  public:
    // Opens the store that `settings.url` names. Throws holdfast::error for what cannot be used.
    using store_opener = std::function<std::unique_ptr<backend::store>(core&)>;
    [[nodiscard]] static std::shared_ptr<core> open(config settings, const store_opener& opener);
    core(const core&) = delete;
    core& operator=(const core&) = delete;
    ~core();

    // Gives back what is held, waits at most config::close_timeout for it, and ends all threads.
    void close();

    const config settings;
    const engine::validity trust;
    observe::counters counts;

    [[nodiscard]] backend::store& store() noexcept { return *store_; }
    [[nodiscard]] strength gives() const noexcept { return store_->has().gives; }
    [[nodiscard]] io::reactor& reactor() noexcept { return *reactor_; }
    // Throws errc::forked in a child process and errc::closed after close().
    void check_usable() const;
    [[nodiscard]] bool usable() const noexcept;
    [[nodiscard]] bool forked() const noexcept { return forked_ != base::fork_generation(); }

    // Why no lock may have this name; empty if it may. While a `call` keeps the store, or its owner does.
    [[nodiscard]] std::optional<backend::failure> objection_to(const lock_name& name) const;
    // The one cell of this client for a lock.
    [[nodiscard]] std::shared_ptr<cell> cell_of(const backend::lock_key& key);

    // A thread inside an acquisition; close() turns it away and waits for it to go.
    class call {
      public:
        explicit call(core& c) noexcept : core_(c) { core_.calls_.fetch_add(1); }
        call(const call&) = delete;
        call& operator=(const call&) = delete;
        ~call() { core_.calls_.fetch_sub(1); }

      private:
        core& core_;
    };

    // --- leases -------------------------------------------------------------------------------
    void began(const std::shared_ptr<tenancy>& t, boot_clock::duration waited);
    // `next` takes the place of `t`, which was released; the store knows nothing of it.
    void passed_on(const tenancy& t, const std::shared_ptr<tenancy>& next, boot_clock::duration waited);
    // No renewal is sent and no loss is told from here on. Counts the hold.
    void ended(const tenancy& t, time_point now);
    // The lease is over and its holder is told. Once; not after ended().
    void lose(const std::shared_ptr<tenancy>& t, const std::string& why);
    // Renews now, and goes on as planned: after a hand-over, and to show a new hold count (0: none).
    void renew_now(const std::shared_ptr<tenancy>& t, std::uint32_t holds);

    // A lease that was to end by itself is renewed from now on, for no less than `lease` at a time.
    void keep_renewed(const std::shared_ptr<tenancy>& t, milliseconds lease);
    // One that was renewed is so now for the last time.
    void renew_once_more(const std::shared_ptr<tenancy>& t);

    // What could not be sent by then never will be, and the store says so before the caller stops waiting at
    // `until`: "not sent" is a better answer than none.
    [[nodiscard]] time_point send_by(time_point now, time_point until) const;
    // Something is under way that nobody waits for; close() gives it config::close_timeout.
    void begin_errand();
    void end_errand();
    // On the reactor thread: false once the client has ended.
    [[nodiscard]] bool has_store() const noexcept { return !store_gone_.load(); }

    // Takes back an acquisition that was given up, without waiting for it.
    void undo(const backend::lock_key& key, const owner_id& owner, milliseconds lease, bool insist);
    // The same, when the result is called; close() waits for that too.
    [[nodiscard]] std::function<void()> plan_undo(const backend::lock_key& key, const owner_id& owner,
                                                  milliseconds lease, bool insist);

    // --- events -------------------------------------------------------------------------------
    void tell(event_kind kind, const lock_name* lock, std::string detail, std::error_code reason = {},
              fence token = fence::none);
    // What the store says of itself.
    void on_notice(const backend::notice& n);
    // On the thread of the user's callbacks; what it throws has nobody to tell.
    void call_user(callback<void()> f) { notifier_.post(std::move(f)); }
    // The newcomer is first told how things stand with the store, whenever that was found out.
    [[nodiscard]] event_subscription listen(std::function<void(const event&)> tell);

  private:
    explicit core(config s);

    void turn_callers_away();
    void begin_renewal(const std::shared_ptr<tenancy>&) REQUIRES(mutex_);
    void tick();
    void arm() REQUIRES(mutex_);
    struct renewal_round;
    void renew(std::vector<std::shared_ptr<tenancy>> due);
    void renew_some(const std::shared_ptr<renewal_round>& all);
    void on_renewed(const std::shared_ptr<tenancy>& t, backend::renew_answer answer, time_point sent);
    void stands(event_kind kind, const std::string& detail, std::error_code reason, event_kind no_more);
    void forget(event_kind kind);  // it does not stand any more
    void send_undo(const backend::release_request& r, milliseconds lease, bool insist, unsigned round);

    const std::uint64_t forked_ = base::fork_generation();
    std::atomic<bool> closed_{false};
    std::atomic<std::size_t> calls_{0};
    std::atomic<bool> store_gone_{
        false};  // read on the reactor thread, by all that begins there and uses the store
    std::unique_ptr<io::reactor> reactor_;
    io::notifier notifier_;
    observe::bus events_;
    std::unique_ptr<backend::store> store_;

    base::mutex mutex_;
    engine::watchdog timetable_ GUARDED_BY(mutex_);
    std::unordered_map<engine::lease_id, std::shared_ptr<tenancy>> leases_ GUARDED_BY(mutex_);
    engine::lease_id next_id_ GUARDED_BY(mutex_) = 1;
    time_point armed_for_ GUARDED_BY(mutex_) = time_point::max();
    io::timer_id timer_ GUARDED_BY(mutex_);
    std::map<event_kind, event> standing_ GUARDED_BY(mutex_);  // true until something else is
    std::size_t errands_ GUARDED_BY(mutex_) = 0;
    std::map<backend::lock_key, std::weak_ptr<cell>> cells_ GUARDED_BY(mutex_);
    std::uint64_t cell_lookups_ GUARDED_BY(mutex_) = 0;  // now and then the expired ones are swept out
};

}  // namespace holdfast::session
