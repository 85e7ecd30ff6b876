// Receives the events for one acquisition from all sources.
#pragma once

#include "base/annotations.hpp"
#include "base/parker.hpp"
#include "engine/acquire.hpp"
#include "engine/local_handoff.hpp"
#include "session/held_lease.hpp"
#include "store/store.hpp"

#include <holdfast/callback.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::session {

// Shared by the acquisition and by every handler that may still report to it, so that a late answer finds it
// although its owner has gone on. Each event wakes the owner: a thread that waits here, or `poke`.
class waiter {
  public:
    waiter(const engine::lease_terms& terms, std::shared_ptr<thread_mark> by_thread, time_point since,
           callback<void()> poke)
        : wants(terms), thread(std::move(by_thread)), called_at(since), poke_(std::move(poke)) {}

    const engine::lease_terms wants;
    const std::shared_ptr<thread_mark> thread;  // of a caller of lock(); empty for leases
    const time_point called_at;
    std::shared_ptr<held_lease>
        handed_off;  // the lock, handed off without the store; guarded by the client lock

    // --- for all --------------------------------------------------------------------------------
    void push(engine::acquire_event e) {
        {
            base::guard lock(mutex_);
            if (closed_) return;
            add(std::move(e));
        }
        wake();
    }
    // Takes an event from the owner's watch. Once the owner holds the lock that it waited for, a message
    // concerns that lease, which is returned.
    [[nodiscard]] std::shared_ptr<held_lease> watched(backend::watch_event e) {
        {
            base::guard lock(mutex_);
            if (closed_) return is_message(e) ? holder_.lock() : nullptr;
            add(engine::watched{std::move(e)});
        }
        wake();
        return nullptr;
    }
    // The answers to all requests so far. After an unknown answer the store may still carry out the request.
    enum class answers { known, some_unknown };
    // A request is about to be sent; `answered` brings its answer in any case.
    void on_send() {
        base::guard lock(mutex_);
        ++answers_due_;
    }
    void answered(engine::answered answer) {
        std::function<void(answers)> then;
        auto all = answers::known;
        {
            base::guard lock(mutex_);
            if (std::holds_alternative<backend::unknown>(answer.answer)) answers_ = answers::some_unknown;
            if (!closed_) add(std::move(answer));
            if (--answers_due_ == 0) then = std::exchange(then_, nullptr);
            all = answers_;
        }
        wake();
        if (then) then(all);
    }
    // `then` runs once no answer is due: now, or on the thread that brings the last answer.
    void once_answered(std::function<void(answers)> then) {
        auto all = answers::known;
        {
            base::guard lock(mutex_);
            if (answers_due_ > 0) {
                then_ = std::move(then);
                return;
            }
            all = answers_;
        }
        then(all);
    }
    // The waiter is now the head of its process's queue.
    void call() {
        turn_.store(true, std::memory_order_release);
        wake();
    }

    // --- for the owner --------------------------------------------------------------------------
    [[nodiscard]] bool called() const noexcept { return turn_.load(std::memory_order_acquire); }
    void called_in_vain() { turn_.store(false, std::memory_order_release); }

    [[nodiscard]] bool has_event() {
        base::guard lock(mutex_);
        return first_.has_value();
    }
    [[nodiscard]] std::optional<engine::acquire_event> take() {
        base::guard lock(mutex_);
        auto e = std::exchange(first_, std::nullopt);
        if (!others_.empty()) {
            first_ = std::move(others_.front());
            others_.erase(others_.begin());
        }
        return e;
    }
    // The owner reads no more events. Its watch may stay open while the lock is held: see `watched`.
    void close() {
        base::guard lock(mutex_);
        end();
    }
    // The same, with the lease that the owner got. True if there is a message that it has not read.
    [[nodiscard]] bool close_with(const std::shared_ptr<held_lease>& got) {
        base::guard lock(mutex_);
        const auto message = [](const engine::acquire_event& e) {
            const auto* const w = std::get_if<engine::watched>(&e);
            return w != nullptr && is_message(w->event);
        };
        const bool unread =
            (first_ && message(*first_)) || std::any_of(others_.begin(), others_.end(), message);
        holder_ = got;
        end();
        return unread;
    }
    // The lease was handed off to `next`, and the watch with it.
    void handed_off_to(const std::shared_ptr<held_lease>& next) {
        base::guard lock(mutex_);
        holder_ = next;
    }
    // Call this before reading the events: an event after it ends the next `wait`.
    void look() { parker_.consume(); }
    // Waits for an event since `look`, or until `until`. With a store, this thread runs the store's I/O
    // meanwhile.
    void wait(time_point until, backend::store* lend_to) {
        if (lend_to != nullptr)
            lend_to->run_io(parker_, until);
        else
            parker_.park_until(until);
    }

  private:
    static bool is_message(const backend::watch_event& e) {
        return e.what == backend::watch_event::change::woken;
    }
    void end() REQUIRES(mutex_) {
        closed_ = true;
        first_.reset();
        others_ = {};
    }
    void wake() {
        if (poke_)
            poke_();
        else
            parker_.unpark();
    }
    void add(engine::acquire_event e) REQUIRES(mutex_) {
        if (first_)
            others_.push_back(std::move(e));
        else
            first_ = std::move(e);
    }

    callback<void()> poke_;
    base::parker parker_;
    std::atomic<bool> turn_{false};
    base::mutex mutex_;
    // Rarely more than one.
    std::optional<engine::acquire_event> first_ GUARDED_BY(mutex_);
    std::vector<engine::acquire_event> others_ GUARDED_BY(mutex_);
    bool closed_ GUARDED_BY(mutex_) = false;
    std::weak_ptr<held_lease> holder_ GUARDED_BY(mutex_);  // the lease that the owner got
    unsigned answers_due_ GUARDED_BY(mutex_) = 0;
    answers answers_ GUARDED_BY(mutex_) = answers::known;
    std::function<void(answers)> then_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::session
