// A lock as one client sees it: the queue of its threads, its present lease, and who may re-enter. All lock
// objects of a client with the same kind and name share one client_lock.
#pragma once

#include "base/annotations.hpp"
#include "engine/acquire.hpp"
#include "engine/kinds.hpp"
#include "engine/local_queue.hpp"
#include "engine/release.hpp"
#include "session/lockable.hpp"
#include "store/counters.hpp"

#include <holdfast/callback.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <variant>
#include <vector>

namespace holdfast::session {

class async_release;
class client_state;
class waiter;

// Thread-safe. Lives as long as a lock object or a hold.
class client_lock final : public lockable, public std::enable_shared_from_this<client_lock> {
  public:
    // `policy`: one of config::policies, or empty.
    client_lock(std::shared_ptr<client_state> of, backend::lock_key key, std::string policy = {});
    client_lock(const client_lock&) = delete;
    client_lock& operator=(const client_lock&) = delete;
    // Reports a lock that a thread still holds by lock(): nothing can unlock it after this.
    ~client_lock() override;

    const lock_name& name() const noexcept override { return key_.name; }
    void check_usable() const override;
    const backend::lock_key& key() const noexcept { return key_; }
    client_state& client() const noexcept { return *client_; }
    const std::string& policy() const noexcept { return policy_; }
    [[nodiscard]] observe::lock_counters& counts() const noexcept { return counts_; }
    // Of its policy; there while client_state::has_store().
    backend::store& store() const noexcept { return store_; }

    [[nodiscard]] outcome acquire(const acquisition& how) override;
    // Adds a hold to the lease of `outer`.
    [[nodiscard]] outcome reenter(const hold& outer);
    // Adds a hold of this side of a shared mutex, for the owner that holds the other side.
    [[nodiscard]] outcome acquire_downgraded(const hold& other, acquisition how);

    // Ends one hold; the last hold of a lease releases the lock. Blocks for a round trip.
    // Blocks for a round trip. True: the store has renewed it.
    bool renew(const hold_of_one& h);
    release_result release(hold_of_one& h) noexcept;

    std::shared_ptr<under_way> acquire_later(const acquisition& how, callback<void(outcome)> done) override;
    void release_later(const std::shared_ptr<hold_of_one>& h, callback<void(release_result)> done);
    // Ends the lease; its permits will not become free by themselves. Blocks for a round trip.
    backend::adjust_answer disown(hold_of_one& h);
    void unlock() noexcept override;
    [[nodiscard]] std::optional<thread_status> held_here() const override;
    // The lease that this thread holds by lock(); empty if none.
    [[nodiscard]] std::shared_ptr<held_lease> own_lease() const;

    // Calls `f` with the moment of the call of each acquisition that is under way.
    template <class F>
    void each_waiting(F f) const {
        base::guard lock(mutex_);
        const std::span<const holding> held{holdings_};
        queue_.each([&](const std::shared_ptr<waiter>& w) {
            const bool holds = std::ranges::any_of(held, [&](const auto& h) { return h.place == w; });
            if (!holds) f(called_at(*w));
        });
    }

    // The client is being closed: cancels all waiters.
    void cancel_waiters();
    // The lease ended without a release: other waiters of this process may try.
    void on_lost(const std::shared_ptr<held_lease>& t);

  private:
    // A held lease, with the number of its holds and its place in the queue.
    struct holding {
        std::shared_ptr<held_lease> lease;
        std::uint32_t holds = 1;
        std::shared_ptr<waiter> place;
    };
    // The holds by lock() of a thread; kept after a loss until the thread unlocks.
    struct thread_hold {
        std::uint64_t thread;
        std::shared_ptr<held_lease> lease;
        std::uint32_t depth = 1;
    };

    friend class acquire_operation;  // queues here, and adds the lease
    friend class async_release;      // likewise ends the lease

    [[nodiscard]] static time_point called_at(const waiter& w);
    [[nodiscard]] holding* holding_of(const std::shared_ptr<held_lease>& t) REQUIRES(mutex_);
    // Removes the lease. Returns the new head of the queue, if that changed.
    [[nodiscard]] std::shared_ptr<waiter> remove_holding(const std::shared_ptr<held_lease>& t)
        REQUIRES(mutex_);
    std::optional<outcome> reenter_by_thread(const acquisition& how);
    [[nodiscard]] outcome pursue(const acquisition& how);
    [[nodiscard]] outcome acquire_other_side(const std::shared_ptr<held_lease>& held, acquisition how);
    [[nodiscard]] outcome downgrade(const std::shared_ptr<held_lease>& writer, acquisition how);
    // For the writer of a shared mutex the readers' lock, for readers the writer's. Empty for other kinds.
    [[nodiscard]] std::shared_ptr<client_lock> other_side() const;
    [[nodiscard]] std::optional<failed> refuse(const acquisition& how) const;
    [[nodiscard]] engine::lease_terms terms_of(const acquisition& how) const;
    // Whether the store has just confirmed that it still has the lease.
    enum class confirmation { none, still_held };
    // True if the lock may go to another thread of this client once the store has confirmed the lease: ask it
    // first.
    [[nodiscard]] bool wants_confirmation(const std::shared_ptr<held_lease>& t, time_point now);
    [[nodiscard]] time_point confirm_until(time_point now) const;
    // The result of a hold that ends without a release at the store: handed off, still held by others, or
    // lost before.
    [[nodiscard]] std::optional<release_result> end_locally(const std::shared_ptr<held_lease>& t,
                                                            confirmation of_store, time_point now);
    [[nodiscard]] std::shared_ptr<waiter> next_holder(const holding& from, time_point now) REQUIRES(mutex_);
    [[nodiscard]] std::shared_ptr<waiter> hand_off(holding& from, confirmation of_store, time_point now)
        REQUIRES(mutex_);
    [[nodiscard]] engine::release releasing(const held_lease& t) const;
    [[nodiscard]] std::shared_ptr<const error> refusal_of(const backend::failure& why) const;
    release_result released(const std::shared_ptr<held_lease>& t, engine::release_done done);
    release_result end_hold(const std::shared_ptr<held_lease>& t) noexcept;
    release_result end_hold_at_store(const std::shared_ptr<held_lease>& t);
    // For a hold that cannot end in the usual way, for lack of memory.
    release_result end_without_answer(const std::shared_ptr<held_lease>& t) noexcept;
    void leave(const std::shared_ptr<waiter>& me);
    // Records what the answer to an attempt means for the waiters behind it in the queue.
    void record_trouble(const backend::attempt_answer& answer);
    // The failure of a waiter that gives up in the queue: only the store can say "busy", and it may have
    // answered no attempt.
    [[nodiscard]] failed not_had() const REQUIRES(mutex_);
    // The lock's name in messages to people, such as "the latch \"ready\"".
    [[nodiscard]] std::string called() const;
    [[nodiscard]] failed describe(const backend::failure& why, const std::string& holder) const;

    const std::shared_ptr<client_state> client_;
    const backend::lock_key key_;
    const std::string policy_;
    backend::store& store_;
    observe::lock_counters& counts_;

    mutable base::mutex mutex_;
    engine::local_queue<std::shared_ptr<waiter>> queue_ GUARDED_BY(mutex_);
    std::vector<holding> holdings_ GUARDED_BY(mutex_);  // more than one only where the kind allows it
    std::vector<thread_hold> threads_ GUARDED_BY(mutex_);
    bool expect_queue_ GUARDED_BY(mutex_) = false;  // our release handed it to another process: others wait
    time_point not_before_ GUARDED_BY(mutex_){};    // our release notified other waiters: let them try first
    // Why the latest attempt got no usable answer; the code is empty if it got one. For queued waiters, which
    // have sent no request.
    std::atomic<bool> in_trouble_{false};
    backend::failure trouble_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::session
