// A thread that waits for a lock: where events for it arrive, whoever sends them.
#pragma once

#include "base/annotations.hpp"
#include "base/parker.hpp"
#include "engine/acquire.hpp"

#include <holdfast/backend.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

namespace holdfast::session {

// Shared by the waiting thread and by every handler that may still tell it something, so that a late answer
// finds it although the thread has gone on. push() is for all; the rest is for the waiting thread.
class waiter {
  public:
    using time_point = boot_clock::time_point;

    void push(engine::acquire_event e) {
        {
            base::guard lock(mutex_);
            events_.push_back(std::move(e));
        }
        parker_.unpark();
    }

    // A question is about to be sent; `answered` brings the answer, whatever it is.
    void asks() {
        base::guard lock(mutex_);
        ++answers_due_;
    }
    void answered(engine::answered answer) {
        std::function<void()> then;
        {
            base::guard lock(mutex_);
            events_.emplace_back(std::move(answer));
            if (--answers_due_ == 0) then = std::exchange(then_, nullptr);
        }
        parker_.unpark();
        if (then) then();
    }
    // `then` runs when no answer is due any more: now, or on the thread that brings the last one.
    void once_answered(std::function<void()> then) {
        {
            base::guard lock(mutex_);
            if (answers_due_ > 0) {
                then_ = std::move(then);
                return;
            }
        }
        then();
    }

    // It is this waiter's turn among the threads of its process.
    void call() {
        turn_.store(true, std::memory_order_release);
        parker_.unpark();
    }
    [[nodiscard]] bool called() const noexcept { return turn_.load(std::memory_order_acquire); }

    // The next event, or elapsed at `until`. With a store, this thread lends itself to its I/O meanwhile.
    engine::acquire_event next(time_point until, backend::store* lend_to) {
        for (;;) {
            parker_.consume();
            if (auto e = take()) return std::move(*e);
            if (boot_clock::now() >= until) return engine::elapsed{};
            if (lend_to != nullptr)
                lend_to->lend(parker_, until);
            else
                parker_.park_until(until);
        }
    }
    // Until called, or `until`, or an event (which stays).
    void wait_for_call(time_point until) {
        while (!called() && !has_event() && boot_clock::now() < until) {
            parker_.park_until(until);
            parker_.consume();
        }
    }
    // Until `until`, or an event (which stays).
    void pause(time_point until) {
        while (!has_event() && boot_clock::now() < until) {
            parker_.park_until(until);
            parker_.consume();
        }
    }

  private:
    [[nodiscard]] bool has_event() {
        base::guard lock(mutex_);
        return !events_.empty();
    }

    std::optional<engine::acquire_event> take() {
        base::guard lock(mutex_);
        if (events_.empty()) return std::nullopt;
        auto e = std::move(events_.front());
        events_.pop_front();
        return e;
    }

    backend::parker parker_;
    std::atomic<bool> turn_{false};
    base::mutex mutex_;
    std::deque<engine::acquire_event> events_ GUARDED_BY(mutex_);
    unsigned answers_due_ GUARDED_BY(mutex_) = 0;
    std::function<void()> then_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::session
