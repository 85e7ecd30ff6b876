// One acquisition under way: from the line of this process's waiters through the store to the lease.
#pragma once

#include "engine/acquire.hpp"
#include "session/cell.hpp"
#include "session/waiter.hpp"

#include <holdfast/callback.hpp>

#include <memory>
#include <optional>

namespace holdfast::session {

// Has no thread of its own: `advance` goes on until only time or an event helps. Then it is called again: by
// the thread that waits (`wait`), or on the reactor when `poke` was called or `until` has come.
// Not thread-safe, but for cancel(). Destroyed before it has ended, it leaves the line.
class pursuit {
  public:
    using outcome = std::variant<std::shared_ptr<hold>, failed>;

    // `poke` may be called on any thread, also inside `advance`; empty: a thread comes to wait().
    pursuit(std::shared_ptr<cell> of, acquisition how, callback<void()> poke = {});
    pursuit(const pursuit&) = delete;
    pursuit& operator=(const pursuit&) = delete;
    ~pursuit();

    // The outcome, once.
    [[nodiscard]] std::optional<outcome> advance();
    // When it must go on although nothing has happened.
    [[nodiscard]] time_point until() const noexcept { return until_; }
    // Blocks until there may be something to do.
    void wait();
    void cancel() { me_->push(engine::cancelled{}); }

  private:
    enum class stage { outside /* the line */, in_line, pausing, at_the_store, over };
    // From the first question to the store to the last answer.
    struct contest {
        contest(const engine::acquire_settings& rules, backend::attempt_request r)
            : machine(rules), request(std::move(r)) {}

        engine::acquire machine;
        backend::attempt_request request;
        std::unique_ptr<backend::watch_handle> watch;
        unsigned asked = 0;           // the number of the last question
        bool asking = false;          // it has no answer yet
        bool may_be_granted = false;  // the same, or the answer is unknown or a grant that was over
    };

    // What a step does counts from a look at the clock before it: never too late a time.
    [[nodiscard]] std::optional<outcome> go_on(time_point now);
    [[nodiscard]] std::optional<outcome> arrive();
    [[nodiscard]] std::optional<outcome> stand_in_line(time_point now);
    [[nodiscard]] outcome give_up_in_line() REQUIRES(cell_->mutex_);
    void at_the_head() REQUIRES(cell_->mutex_);
    [[nodiscard]] std::optional<outcome> contend(time_point now);
    void begin_contest();
    void take_back() noexcept;  // what may have been granted or queued
    [[nodiscard]] std::optional<outcome> obey(engine::acquire_action action, time_point now);
    [[nodiscard]] std::shared_ptr<hold> settle(const engine::hold_it& grant, time_point now);
    [[nodiscard]] std::shared_ptr<hold> hold_of(const std::shared_ptr<tenancy>& t) REQUIRES(cell_->mutex_);

    const std::shared_ptr<cell> cell_;
    core& core_;
    const acquisition how_;
    const std::shared_ptr<waiter> me_;
    stage stage_ = stage::outside;
    time_point until_ = time_point::max();
    bool expect_queue_ = false;  // others wait elsewhere
    std::optional<contest> contest_;
};

}  // namespace holdfast::session
