// What one client has: its store, its reactor, its timetable of leases, its counters and events.
#pragma once

#include "base/annotations.hpp"
#include "engine/acquire.hpp"
#include "engine/watchdog.hpp"
#include "io/notifier.hpp"
#include "io/reactor.hpp"
#include "observe/bus.hpp"
#include "observe/counters.hpp"
#include "session/evicted_leases.hpp"
#include "session/tenancy.hpp"

#include <holdfast/config.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

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

    // Gives back what is held, runs the callbacks that are due, and ends all threads but one that is stuck in
    // a callback. All of that takes at most config::close_timeout.
    void close();

    const config settings;
    observe::counters counts;

    [[nodiscard]] backend::store& store() const noexcept { return *store_; }
    [[nodiscard]] const engine::validity& trust() const noexcept { return trust_; }
    // Also after close(): leases outlive it.
    [[nodiscard]] strength gives() const noexcept { return gives_; }
    [[nodiscard]] io::reactor& reactor() noexcept { return *reactor_; }
    // Throws errc::forked in a child process and errc::closed after close().
    void check_usable() const;
    [[nodiscard]] bool usable() const noexcept;
    [[nodiscard]] bool forked() const noexcept { return forked_ != base::fork_generation(); }
    // When close() has no more time for threads that wait for an answer; time_point::max() before it.
    [[nodiscard]] time_point waits_until() const noexcept { return waits_until_.load(); }

    // Why no lock may have this name; empty if it may. While a `call` keeps the store, or its owner does.
    [[nodiscard]] std::optional<backend::failure> objection_to(const lock_name& name) const;
    [[nodiscard]] std::optional<backend::failure> objection_to(const backend::lock_key& key) const;
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
    void passed_on(tenancy& t, const std::shared_ptr<tenancy>& next, boot_clock::duration waited);
    // No renewal is sent and no loss is told from here on. Counts the hold.
    void ended(const tenancy& t, time_point now);
    // The lease is over and its holder is told. Once; not after ended(). False if it had ended before.
    bool lose(const std::shared_ptr<tenancy>& t, const std::string& why);
    // An operator wants what `owner` holds: the lease is over at once, then `say_so` is called, and then the
    // lock is released; with config::keep_evicted the last two by free_what_is_over. False if there is no
    // such lease, or something of it has ended meanwhile in another way: then `say_so` is not called.
    bool give_up(const owner_id& owner, const std::function<void()>& say_so = {});
    // A hold of a lease that is over was released, and so the lock is: if the store does not know yet, that
    // frees it earlier. Not while other holds of one that was evicted are at work (config::keep_evicted).
    void free_what_is_over(const std::shared_ptr<tenancy>& t);
    // It was evicted, and config::keep_evicted lets its work stop first: see evicted_leases.
    [[nodiscard]] bool keeps(const tenancy& t);
    // The lease is over, and so many holds of it are to be released.
    void count_holds_if_kept(const tenancy& t, std::uint32_t holds);
    // Renews now, and goes on as planned: after a hand-over, and to show a new hold count (0: none). This
    // once for no less than `at_least`.
    void renew_now(const std::shared_ptr<tenancy>& t, std::uint32_t holds, milliseconds at_least = {});
    // Renews now, and says whether the store still has it. A lease that it does not know any more is lost by
    // then. A verb of the store: the calling thread lends itself to the answer.
    void confirm(const std::shared_ptr<tenancy>& t, time_point until, std::function<void(bool)> still_held);
    // A message that comes to the holder may mean that somebody has taken the lock away by force: asks the
    // store, which a lease that it does not know any more is lost by. However many messages come, one
    // question is under way and one more follows it. Only of kinds that are taken by force.
    void ask_whether_held(const std::shared_ptr<tenancy>& t);
    // Asks the store about the leases on this name, for at most one answer's time. Those that it does not
    // know any more are lost when it returns.
    void look_for_losses(const lock_name& name);

    // A lease that was to end by itself is renewed from now on, for no less than `lease` at a time.
    void keep_renewed(const std::shared_ptr<tenancy>& t, milliseconds lease);
    // It is not renewed any more, and so it ends.
    void let_expire(const std::shared_ptr<tenancy>& t);
    // One that was renewed is so now for the last time.
    void renew_once_more(const std::shared_ptr<tenancy>& t);

    // The store has freed it by then, whatever is still on its way to it.
    [[nodiscard]] time_point store_frees(const tenancy& t, time_point now);

    // What could not be sent by then never will be, and the store says so before the caller stops waiting at
    // `until`: "not sent" is a better answer than none.
    [[nodiscard]] time_point send_by(time_point now, time_point until) const;
    // Something is under way that nobody waits for; close() gives it config::close_timeout.
    void begin_errand();
    void end_errand();
    // False once the client has ended. On the reactor thread, or inside a `call`, the store stays if it is
    // there.
    [[nodiscard]] bool has_store() const noexcept { return !store_gone_.load(); }

    // Takes back an acquisition that was given up, without waiting for it.
    void undo(const backend::lock_key& key, const owner_id& owner, milliseconds lease, bool insist);
    // The same, when the result is called; close() waits for that too.
    [[nodiscard]] std::function<void(bool insist)> plan_undo(const backend::lock_key& key,
                                                             const owner_id& owner, milliseconds lease);

    // --- events -------------------------------------------------------------------------------
    void tell(event_kind kind, const lock_name* lock, const std::string& detail, std::error_code reason = {},
              fence token = fence::none) noexcept;
    // What the store says of itself.
    void on_notice(const backend::notice& n);
    // On a thread of the user's callbacks; what it throws has nobody to tell. Dropped if too many wait, or if
    // there is no thread for it.
    void call_user(callback<void()> f) noexcept;
    // The newcomer is first told how things stand with the store, whenever that was found out.
    [[nodiscard]] event_subscription listen(std::function<void(const event&)> tell);

  private:
    explicit core(config s);

    void turn_callers_away();
    void free_what_was_evicted();
    void finish_callbacks(time_point until);
    void tell_slow();
    void begin_renewal(const std::shared_ptr<tenancy>&) REQUIRES(mutex_);
    // Its leases are lost when it is reached.
    void watch_bound(const std::shared_ptr<const backend::bound>&) REQUIRES(mutex_);
    void look_at_bound(const std::shared_ptr<const backend::bound>&);
    // The time of the lease is over. The lock is released where the store would keep it.
    void end_in_time(const std::shared_ptr<tenancy>& t, const std::string& why);
    // The session with the store has ended, and with it all leases.
    void lose_all(const std::string& why);
    void tick();
    void arm() REQUIRES(mutex_);
    struct renewal_round;
    struct sent_renewal;
    void renew(std::vector<std::shared_ptr<tenancy>> due);
    void renew_some(const std::shared_ptr<renewal_round>& all);
    // What is to be renewed: for how long, and which hold count is to be shown.
    struct renewal_terms {
        std::optional<milliseconds> lease{};  // empty: the lease's own
        std::uint32_t holds = 0;
    };
    using renew_answers = std::vector<backend::renew_answer>;
    // `answered` gets the answers to those that still were to be renewed.
    void send_renewals(std::span<const std::shared_ptr<tenancy>> of, renewal_terms how, time_point until,
                       std::function<void(const renew_answers&)> answered);
    void put_question(const std::shared_ptr<tenancy>& t);
    void on_renewed(const sent_renewal& sent, const backend::renew_answer& answer) EXCLUDES(mutex_);
    // `why`: what the store said to the renewal, if it spoke.
    void endanger(const std::shared_ptr<tenancy>& t, const backend::failure& why);
    [[nodiscard]] std::string why_over(const tenancy& t);
    void hear_requests();
    void hear_requests_soon();
    void stands(event_kind kind, const std::string& detail, std::error_code reason, event_kind no_more);
    void forget(event_kind kind);  // it does not stand any more
    void send_undo(const backend::release_request& r, milliseconds lease, bool insist, unsigned round);

    const std::uint64_t forked_ = base::fork_generation();
    engine::validity trust_;  // this and the next are set before there is a lease
    strength gives_{};
    std::atomic<bool> hears_requests_{false};  // or is about to see to it
    std::atomic<bool> closed_{false};
    std::atomic<time_point> waits_until_{time_point::max()};
    std::atomic<std::size_t> calls_{0};
    std::atomic<std::uint64_t> sessions_lost_{0};
    std::atomic<bool> store_gone_{
        false};  // read on the reactor thread, by all that begins there and uses the store
    std::unique_ptr<io::reactor> reactor_;
    io::notifier losses_;  // nothing else, so that no other callback is in their way
    observe::bus events_;
    std::unique_ptr<backend::store> store_;

    base::mutex mutex_;
    std::shared_ptr<io::notifier> other_calls_ GUARDED_BY(mutex_);  // made when first needed
    engine::watchdog timetable_ GUARDED_BY(mutex_);
    std::unordered_map<engine::lease_id, std::shared_ptr<tenancy>> leases_ GUARDED_BY(mutex_);
    evicted_leases evicted_ GUARDED_BY(mutex_);
    engine::lease_id next_id_ GUARDED_BY(mutex_) = 1;
    time_point armed_for_ GUARDED_BY(mutex_) = time_point::max();
    io::timer_id timer_ GUARDED_BY(mutex_);
    std::map<event_kind, event> standing_ GUARDED_BY(mutex_);  // true until something else is
    std::size_t errands_ GUARDED_BY(mutex_) = 0;
    std::set<std::shared_ptr<const backend::bound>> bounds_ GUARDED_BY(mutex_);  // one timer each
    std::map<backend::lock_key, std::weak_ptr<cell>> cells_ GUARDED_BY(mutex_);
    std::uint64_t cell_lookups_ GUARDED_BY(mutex_) = 0;  // now and then the expired ones are swept out
};

}  // namespace holdfast::session
