// The state of one client: its store, its reactor, its watchdog, its leases, its counters and events.
#pragma once

#include "base/annotations.hpp"
#include "engine/acquire.hpp"
#include "engine/watchdog.hpp"
#include "io/notifier.hpp"
#include "io/reactor.hpp"
#include "observe/bus.hpp"
#include "observe/counters.hpp"
#include "session/evicted_leases.hpp"
#include "session/held_lease.hpp"

#include <holdfast/config.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace holdfast::session {

class client_lock;

// Thread-safe. Outlives the client while its leases exist; then it is closed, and its functions fail with
// errc::closed.
class client_state : public std::enable_shared_from_this<client_state> {
  public:
    // The store of one policy (config::policies). It may use the client's own store, and is closed before it.
    struct policy_store {
        std::string policy;
        std::unique_ptr<backend::store> store;
        std::function<void()> on_link_up;  // of the client's own store
    };
    // Opens the store that `settings.url` names. Throws holdfast::error if it cannot be used.
    using store_opener = std::function<std::unique_ptr<backend::store>(client_state&)>;
    // Opens those of the policies; the client's own store is open by then.
    struct opened_policies {
        std::vector<policy_store> stores;
        std::shared_ptr<void> beside{};  // what tells them something; ends before them
        std::shared_ptr<const std::atomic<bool>> source_is_down{};  // config::switch_source, if there is one
    };
    using policy_opener = std::function<opened_policies(client_state&)>;
    [[nodiscard]] static std::shared_ptr<client_state> open(config settings, const store_opener& opener,
                                                            const policy_opener& policies = {});
    client_state(const client_state&) = delete;
    client_state& operator=(const client_state&) = delete;
    ~client_state();

    // Releases all leases, runs the callbacks that are due, and ends all threads except one that is stuck in
    // a callback. Takes at most config::close_timeout in all.
    void close();

    const config settings;
    observe::counters counts;

    // The client's own, which also does the I/O of the others.
    [[nodiscard]] backend::store& store() const noexcept { return *store_; }
    // For locks with this policy: the store of the policy, or the client's own if the policy has none.
    [[nodiscard]] backend::store& store_of(std::string_view policy) const noexcept;
    [[nodiscard]] const engine::clock_margin& clock_margin() const noexcept { return clock_margin_; }
    // Works after close(), too: leases outlive it.
    [[nodiscard]] holdfast::strength strength() const noexcept { return strength_; }
    [[nodiscard]] io::reactor& reactor() noexcept { return *reactor_; }
    // Throws errc::forked in a child process and errc::closed after close().
    void check_usable() const;
    [[nodiscard]] bool usable() const noexcept;
    [[nodiscard]] bool forked() const noexcept { return forked_ != base::fork_generation(); }
    // When a close() under way stops waiting for threads that wait for an answer; time_point::max() before
    // close().
    [[nodiscard]] time_point waits_until() const noexcept { return waits_until_.load(); }

    // Why no lock may have this name; empty if it may. The caller holds a `call` or owns the client, so that
    // the store stays.
    [[nodiscard]] static std::optional<backend::failure> objection_to(const lock_name& name,
                                                                      const backend::store& in);
    // The same, or why the store has no locks of this kind.
    [[nodiscard]] static std::optional<backend::failure> objection_to(const backend::lock_key& key,
                                                                      const backend::store& in);
    // The one client_lock of this client for a lock. Throws errc::invalid_argument while there is one with
    // another policy.
    [[nodiscard]] std::shared_ptr<client_lock> lock_of(const backend::lock_key& key,
                                                       const std::string& policy = {});

    // A thread inside an acquisition; close() cancels it and waits until it has left.
    class call {
      public:
        explicit call(client_state& c) noexcept : client_(c) { client_.calls_.fetch_add(1); }
        call(const call&) = delete;
        call& operator=(const call&) = delete;
        ~call() { client_.calls_.fetch_sub(1); }

      private:
        client_state& client_;
    };

    // --- leases -------------------------------------------------------------------------------
    void began(const std::shared_ptr<held_lease>& t, boot_clock::duration waited);
    // `next` takes the place of `t`, which was released; the store is not notified.
    void handed_off(held_lease& t, const std::shared_ptr<held_lease>& next, boot_clock::duration waited);
    // From here on no renewal is sent and no loss is reported. Counts the hold.
    void ended(const held_lease& t, time_point now);
    // Ends the lease and reports the loss to its holder, once. False if the lease had ended before, also by
    // ended().
    bool lose(const std::shared_ptr<held_lease>& t, observe::loss as, const std::string& why);
    // An operator evicts `owner`: ends its lease at once, then calls `confirm`, then releases the lock. With
    // config::keep_evicted, free_what_is_over() does the last two. False if there is no such lease, or a part
    // of it has ended meanwhile in another way: then `confirm` is not called.
    bool give_up(const owner_id& owner, const std::function<void()>& confirm = {},
                 const std::string& why = "it was evicted by an operator");
    // A hold of an ended lease was released. Releases the lock, too, in case the store does not know of the
    // end yet. Does nothing while an evicted lease has other holds (config::keep_evicted).
    void free_what_is_over(const std::shared_ptr<held_lease>& t);
    // The lease was evicted, and config::keep_evicted lets its work stop first: see evicted_leases.
    [[nodiscard]] bool keeps(const held_lease& t);
    // The lease has ended and has this many holds to be released. Records them if the lease is kept.
    void count_holds_if_kept(const held_lease& t, std::uint32_t holds);
    // Renews now, and later as planned: after a hand-off, and to show a new hold count (0: none). This
    // renewal asks for no less than `at_least`.
    void renew_now(const std::shared_ptr<held_lease>& t, std::uint32_t holds, milliseconds at_least = {});
    // Renews now, to show a smaller hold count to others. Without memory for it they see the old one.
    void show_holds(const std::shared_ptr<held_lease>& t, std::uint32_t holds) noexcept;
    // Renews now, and reports whether the store still has the lease. If not, the lease is lost by then. A
    // request to the store: the calling thread must lend itself to the store's I/O.
    void confirm(const std::shared_ptr<held_lease>& t, time_point until,
                 std::function<void(bool)> still_held);
    // A message to the holder may mean that another client has taken the lock by force. Asks the store
    // whether it still has the lease; if not, the lease is lost. However many messages come, one request is
    // under way and one more follows it. Does nothing for kinds that cannot be taken by force.
    void ask_whether_held(const std::shared_ptr<held_lease>& t);
    // Asks the store about the leases on this name and waits for at most config::answer_timeout. Leases that
    // the store does not have are lost when this returns.
    void look_for_losses(const lock_name& name);

    // Renews from now on a lease that was to expire, for no less than `lease` at a time.
    void keep_renewed(const std::shared_ptr<held_lease>& t, milliseconds lease);
    // Stops renewing the lease, so it expires.
    void let_expire(const std::shared_ptr<held_lease>& t);
    // Renews a lease one last time, then lets it expire.
    void renew_once_more(const std::shared_ptr<held_lease>& t);

    // The store has freed the lock by then, whatever requests are still on their way.
    [[nodiscard]] time_point store_frees(const held_lease& t, time_point now);

    // A request that is not sent by then never will be, and the store reports so before the caller stops
    // waiting at `until`: "not sent" is a better answer than none.
    [[nodiscard]] time_point send_by(time_point now, time_point until) const;
    // Counts a request without a waiting caller; close() gives it config::close_timeout.
    void begin_pending();
    void end_pending();
    // False once the client has ended. On the reactor thread, or inside a `call`, a store that is there
    // stays.
    [[nodiscard]] bool has_store() const noexcept { return !store_gone_.load(); }

    // Releases what an abandoned acquisition may have been granted, without waiting. Without memory for the
    // release the lease ends by itself, or the store releases it later.
    void undo(backend::store& in, const backend::lock_key& key, const owner_id& owner, milliseconds lease,
              bool insist) noexcept;
    void undo(const held_lease& t, bool insist) noexcept { undo(t.store, t.key, t.owner, t.lease(), insist); }
    // The same, at the call of the result, which does not throw; close() waits for that too.
    [[nodiscard]] std::function<void(bool insist)> plan_undo(backend::store& in, const backend::lock_key& key,
                                                             const owner_id& owner, milliseconds lease);

    // --- metrics ------------------------------------------------------------------------------
    // The locks that are held and waited for now, by family. Metrics cannot count these in passing.
    struct present {
        std::uint64_t waiting = 0;
        boot_clock::duration oldest_wait{}, longest_hold{};
    };
    [[nodiscard]] std::map<const observe::lock_counters*, present> look_at_locks();
    // Whether the client's own store answers; empty: it has not been asked yet.
    [[nodiscard]] std::optional<bool> store_is_up();
    // Whether config::switch_source can be read; empty: there is none.
    [[nodiscard]] std::optional<bool> source_is_up() const;
    // Whether what such an event says is so now; of a kind that report_state() was given.
    [[nodiscard]] bool is_so(event_kind kind);

    // --- events -------------------------------------------------------------------------------
    void report(event_kind kind, const lock_name* lock, const std::string& detail,
                std::error_code reason = {}, holdfast::fence fence = holdfast::fence::none) noexcept;
    // Reports what is true until another event of this kind, or of the kind `no_more`, says otherwise: also
    // to those that listen later.
    void report_state(event_kind kind, const std::string& detail, std::error_code reason, event_kind no_more);
    void forget(event_kind kind);  // that state has ended
    // Handles a change that the store reports.
    void on_notice(const backend::notice& n);
    // Runs `f` on a thread for user callbacks and ignores what it throws. Drops it if too many wait, or if
    // there is no thread for it.
    void call_user(callback<void()> f) noexcept;
    // The new listener first receives the events that describe the present state of the store.
    [[nodiscard]] event_subscription listen(std::function<void(const event&)> listener);

  private:
    explicit client_state(config s);

    void add(opened_policies all);
    // Reports the lease that a notice is about, and ends it if the notice says so.
    void report_about(const backend::notice& n, event_kind kind);
    void cancel_callers();
    [[nodiscard]] bool has_pending() const noexcept;
    void free_what_was_evicted();
    void finish_callbacks(time_point until);
    void report_slow_callback();
    void begin_renewal(const std::shared_ptr<held_lease>&) REQUIRES(mutex_);
    // When the bound is reached, the leases under it are lost.
    void watch_bound(const std::shared_ptr<const backend::bound>&) REQUIRES(mutex_);
    void look_at_bound(const std::shared_ptr<const backend::bound>&);
    // They may end earlier than their timers are due.
    void watch_bounds_anew() REQUIRES(mutex_);
    // The lease has expired. Releases the lock if the store would keep it.
    void end_in_time(const std::shared_ptr<held_lease>& t, observe::loss as, const std::string& why);
    // The session with the store has ended, and all leases with it.
    void lose_all(const std::string& why);
    void tick();
    void arm() REQUIRES(mutex_);
    struct renewal_round;
    struct sent_renewal;
    void renew(std::vector<std::shared_ptr<held_lease>> due);
    void renew_some(const std::shared_ptr<renewal_round>& all);
    // The terms of a renewal: its lease, and the hold count to show.
    struct renewal_terms {
        std::optional<milliseconds> lease{};  // empty: the lease's own
        std::uint32_t holds = 0;
    };
    using renew_answers = std::vector<backend::renew_answer>;
    // All of one store. `answered` gets the answers for the leases that were still valid.
    void send_renewals(std::span<const std::shared_ptr<held_lease>> of, renewal_terms how, time_point until,
                       std::function<void(const renew_answers&)> answered);
    void send_question(const std::shared_ptr<held_lease>& t);
    void on_renewed(const sent_renewal& sent, const backend::renew_answer& answer) EXCLUDES(mutex_);
    [[nodiscard]] bool is_out_of_date(const held_lease& t, const sent_renewal& failed);
    // `why`: the store's answer to the renewal, if there was one.
    void endanger(const std::shared_ptr<held_lease>& t, const backend::failure& why);
    [[nodiscard]] std::string why_over(const held_lease& t);
    void listen_for_evictions();
    void listen_for_evictions_soon();
    class pending_undo;
    void send_undo(backend::store& in, const backend::release_request& r, milliseconds lease, bool insist,
                   unsigned round, const std::shared_ptr<const pending_undo>& pending);

    const std::uint64_t forked_ = base::fork_generation();
    engine::clock_margin clock_margin_;  // set, like the next, before there is a lease
    holdfast::strength strength_{};
    std::atomic<bool> listens_for_evictions_{false};  // or a timer for it is set
    std::atomic<bool> closed_{false};
    std::atomic<time_point> waits_until_{time_point::max()};
    std::atomic<std::size_t> calls_{0};
    std::atomic<std::uint64_t> sessions_lost_{0};
    std::atomic<bool> store_gone_{
        false};  // read on the reactor thread, by all that begins there and uses the store
    std::unique_ptr<io::reactor> reactor_;
    io::notifier losses_;  // only losses, so that no other callback delays them
    observe::bus events_;
    std::unique_ptr<backend::store> store_;
    std::vector<policy_store> policy_stores_;  // constant from open() to close()
    std::shared_ptr<void> beside_policies_;
    std::shared_ptr<const std::atomic<bool>> source_is_down_;  // constant from open() on

    base::mutex mutex_;
    std::shared_ptr<io::notifier> other_calls_ GUARDED_BY(mutex_);  // made when first needed
    engine::watchdog timetable_ GUARDED_BY(mutex_);
    std::unordered_map<engine::lease_id, std::shared_ptr<held_lease>> leases_ GUARDED_BY(mutex_);
    evicted_leases evicted_ GUARDED_BY(mutex_);
    engine::lease_id next_id_ GUARDED_BY(mutex_) = 1;
    time_point armed_for_ GUARDED_BY(mutex_) = time_point::max();
    io::timer_id timer_ GUARDED_BY(mutex_);
    std::vector<std::function<void()>> on_link_up_ GUARDED_BY(mutex_);
    std::map<event_kind, event> current_events_ GUARDED_BY(mutex_);  // true until another event replaces it
    std::size_t pending_ GUARDED_BY(mutex_) = 0;
    std::map<std::shared_ptr<const backend::bound>, io::timer_id> bounds_ GUARDED_BY(mutex_);
    std::map<backend::lock_key, std::weak_ptr<client_lock>> locks_ GUARDED_BY(mutex_);
    std::uint64_t lock_lookups_ GUARDED_BY(mutex_) = 0;  // expired ones are swept out now and then
};

}  // namespace holdfast::session
