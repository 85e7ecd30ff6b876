// One acquisition: from the queue of this process through the store to the lease.
#pragma once

#include "engine/acquire.hpp"
#include "session/client_lock.hpp"
#include "session/waiter.hpp"

#include <holdfast/callback.hpp>

#include <memory>
#include <optional>

namespace holdfast::session {

// Has no thread of its own: `advance` proceeds until it must wait for a time or an event. Then call it again:
// from the waiting thread, after `wait`, or on the reactor, when `poke` was called or `until` is reached. Not
// thread-safe, except for cancel(). The destructor leaves the queue if the acquisition has not ended.
class acquire_operation {
  public:
    using outcome = std::variant<std::shared_ptr<hold>, failed>;

    // `poke` may be called on any thread, also inside `advance`; empty: a thread calls wait().
    acquire_operation(std::shared_ptr<client_lock> of, acquisition how, callback<void()> poke = {});
    acquire_operation(const acquire_operation&) = delete;
    acquire_operation& operator=(const acquire_operation&) = delete;
    ~acquire_operation();

    // The outcome, once there is one.
    [[nodiscard]] std::optional<outcome> advance();
    // When to call `advance` even if nothing happens.
    [[nodiscard]] time_point until() const noexcept { return until_; }
    // Blocks until there may be something to do.
    void wait();
    void cancel() { me_->push(engine::cancelled{}); }

  private:
    enum class stage { outside /* the queue */, in_queue, pausing, at_the_store, over };
    // The part at the store, from the first request to the last answer.
    struct store_attempt {
        store_attempt(const engine::acquire_settings& rules, backend::attempt_request r)
            : machine(rules), request(std::move(r)) {}

        engine::acquire machine;
        backend::attempt_request request;
        std::unique_ptr<backend::watch_handle> watch;
        unsigned number = 0;          // the number of the last request
        bool unanswered = false;      // the last request has no answer yet
        bool may_be_granted = false;  // the same, or its answer is unknown or a grant that had expired
    };

    // `now` was read before the step and is never too late.
    [[nodiscard]] std::optional<outcome> go_on(time_point now);
    [[nodiscard]] std::optional<outcome> enter_queue();
    [[nodiscard]] std::optional<outcome> wait_in_queue(time_point now);
    [[nodiscard]] outcome give_up_in_queue() REQUIRES(lock_->mutex_);
    void at_the_head() REQUIRES(lock_->mutex_);
    [[nodiscard]] std::optional<outcome> advance_attempt(time_point now);
    void begin_attempt();
    void take_back() noexcept;  // undoes what may have been granted or queued
    [[nodiscard]] std::optional<outcome> carry_out(engine::acquire_action action, time_point now);
    [[nodiscard]] std::shared_ptr<hold> settle(const engine::hold_it& grant, time_point now);
    [[nodiscard]] std::shared_ptr<hold> begin_hold(const std::shared_ptr<held_lease>& t,
                                                   const engine::hold_it& grant, time_point now);
    [[nodiscard]] std::shared_ptr<hold> hold_of(const std::shared_ptr<held_lease>& t) REQUIRES(lock_->mutex_);

    const std::shared_ptr<client_lock> lock_;
    client_state& client_;
    const acquisition how_;
    const std::shared_ptr<waiter> me_;
    stage stage_ = stage::outside;
    time_point until_ = time_point::max();
    bool expect_queue_ = false;  // waiters of other processes are in the queue
    std::optional<store_attempt> attempt_;
};

}  // namespace holdfast::session
