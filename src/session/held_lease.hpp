// One lease as the store knows it: from the grant to the release or the loss. The user's holds point to it.
#pragma once

#include "base/annotations.hpp"
#include "base/fork.hpp"
#include "engine/latest_expiry.hpp"
#include "engine/local_handoff.hpp"
#include "engine/validity.hpp"
#include "observe/counters.hpp"
#include "store/store.hpp"

#include <holdfast/lease.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>

namespace holdfast::session {

class client_lock;
class waiter;

using backend::time_point;
using std::chrono::milliseconds;

// A thread that holds by lock(). `alive` becomes false when the thread ends.
struct thread_mark {
    explicit thread_mark(std::uint64_t s) : serial(s) {}

    const std::uint64_t serial;
    std::atomic<bool> alive{true};
};
// The mark of the calling thread. Serials are never reused, unlike the system's thread ids.
[[nodiscard]] const std::shared_ptr<thread_mark>& this_thread();

// valid() and deadline() may be called from any thread at any time; each other member says what guards it.
class held_lease {
  public:
    held_lease(backend::store& in, backend::lock_key k, owner_id o, const engine::lease_terms& terms, fence f,
               time_point until, time_point now, std::shared_ptr<const backend::bound> with = nullptr)
        : store(in),
          key(std::move(k)),
          owner(std::move(o)),
          fence(f),
          since(now),
          replicas(terms.replicas),
          at_least(terms.at_least),
          bound(std::move(with)),
          lease_(terms.lease.count()),
          renewed_(terms.renewed),
          deadline_(count(until)) {}

    backend::store& store;  // there while client_state::has_store()
    const backend::lock_key key;
    const owner_id owner;
    const holdfast::fence fence;
    const time_point since;
    const replication replicas;                         // that must confirm its renewals
    const holdfast::strength at_least;                  // what the holder asked for
    const std::shared_ptr<const backend::bound> bound;  // the lease ends with it; empty: own deadline only
    std::uint32_t acks = 0;                    // of the grant; set before other threads see the held_lease
    std::optional<holdfast::strength> weaker;  // of the grant, see backend::granted; set likewise
    std::uint64_t id = 0;                      // in the watchdog; set before other threads see the held_lease
    engine::shared_grant grant;                // set likewise
    bool stray = false;  // an attempt had no answer and may still reach the store; set likewise
    std::shared_ptr<thread_mark> thread;       // held by lock(); empty for leases; set likewise
    std::weak_ptr<client_lock> home;           // set likewise
    observe::lock_counters* counts = nullptr;  // of its client; set likewise
    bool read_by_writer = false;               // a writer that reads as well; guarded by the client lock
    bool not_held = false;  // the store has answered that it is not held; guarded by the client
    std::shared_ptr<held_lease> successor;  // the held_lease after a hand-off; guarded by the client
    // Whether a request asks the store if the lock is still held; guarded by the client.
    enum class question { none, once, once_more /* after the one that is under way */ };
    question asked = question::none;
    // The store's last refusal to renew it, since the last successful renewal; guarded by the client.
    std::optional<backend::failure> refusal;
    time_point renewed_by{};       // when the latest renewal that worked was sent; guarded by the client
    engine::latest_expiry expiry;  // of the lease in the store; moves to the successor; guarded by the client
    std::unique_ptr<backend::watch_handle>
        watch;  // set before others see it; dropped when the held_lease ends
    std::shared_ptr<waiter>
        listener;  // receives the events of the watch; set likewise; moves to the successor

    // The terms of each request, and whether the lease is renewed.
    [[nodiscard]] engine::lease_terms terms() const noexcept {
        return {lease(), renewed(), replicas, at_least};
    }
    [[nodiscard]] milliseconds lease() const noexcept {
        return milliseconds{lease_.load(std::memory_order_acquire)};
    }
    // `of_store`: what its store guarantees.
    [[nodiscard]] holdfast::strength strength(holdfast::strength of_store) const noexcept {
        if (weaker) return *weaker;
        return of_store == holdfast::strength::quorum && fence != holdfast::fence::none
                   ? holdfast::strength::fenced_quorum
                   : of_store;
    }
    // Since when its time runs, also before a hand-off; guarded by the client.
    [[nodiscard]] time_point counted_from() const noexcept {
        return renewed_by != time_point{} ? renewed_by : since;
    }
    [[nodiscard]] bool renewed() const noexcept { return renewed_.load(std::memory_order_acquire); }
    // A nested hold wants the lease renewed, for no less than `l` at a time.
    void keep_renewed(milliseconds l) noexcept {
        if (l > lease()) lease_.store(l.count(), std::memory_order_release);
        renewed_.store(true, std::memory_order_release);
    }

    void renew_no_more() noexcept { renewed_.store(false, std::memory_order_release); }

    [[nodiscard]] time_point deadline() const noexcept {
        const auto own = own_deadline();
        return bound ? std::min(own, bound->until()) : own;
    }
    // Ignores the bound.
    [[nodiscard]] time_point own_deadline() const noexcept {
        return time_point{boot_clock::duration{deadline_.load(std::memory_order_acquire)}};
    }
    [[nodiscard]] lease_state state() const noexcept {
        const auto s = state_.load(std::memory_order_acquire);
        // The lease is over even if no thread has recorded that yet.
        const bool open = s == lease_state::held || s == lease_state::jeopardy;
        return open && !in_time() ? lease_state::lost : s;
    }
    [[nodiscard]] bool valid() const noexcept {
        const auto s = state_.load(std::memory_order_acquire);
        return (s == lease_state::held || s == lease_state::jeopardy) && in_time();
    }

    // Ends the lease before any thread has looked at it.
    void expire() noexcept { deadline_.store(count(since), std::memory_order_release); }

    // Applies a renewal that worked. False if the deadline had passed before: then nothing revives the lease.
    bool extend(const engine::lease_request& worked, const engine::clock_margin& margin,
                time_point now) noexcept {
        if (deadline() <= now) return false;
        const auto until = worked.deadline(margin);
        auto old = deadline_.load(std::memory_order_acquire);
        do {
            if (old <= count(now)) return false;
        } while (
            !deadline_.compare_exchange_weak(old, std::max(old, count(until)), std::memory_order_acq_rel));
        return true;
    }

    // The store ends the lease earlier than it had said.
    void shorten(time_point until) noexcept {
        auto old = deadline_.load(std::memory_order_acquire);
        while (old > count(until) &&
               !deadline_.compare_exchange_weak(old, count(until), std::memory_order_acq_rel)) {
        }
    }

    // Moves to `next` if the lease is held or in jeopardy. False if another thread ended it before.
    bool move_to(lease_state next) noexcept {
        auto s = state_.load(std::memory_order_acquire);
        do {
            if (s != lease_state::held && s != lease_state::jeopardy) return false;
            if (s == next) return false;
        } while (!state_.compare_exchange_weak(s, next, std::memory_order_acq_rel));
        return true;
    }

    // The function that ends the held_lease stops this token, with the source from end_lost().
    [[nodiscard]] std::stop_token lost_token() {
        base::guard lock(mutex_);
        if (!lost_.stop_possible()) {
            lost_ = std::stop_source{};
            if (callbacks_) lost_.request_stop();
        }
        return lost_.get_token();
    }
    // The source to stop, if lost_token() has been called: request_stop() runs the user's callbacks. Later
    // tokens are stopped from the start.
    [[nodiscard]] std::stop_source end_lost() {
        base::guard lock(mutex_);
        callbacks_ = true;
        return lost_;
    }

  private:
    static boot_clock::rep count(time_point t) noexcept { return t.time_since_epoch().count(); }
    [[nodiscard]] bool in_time() const noexcept {
        return base::fork_generation() == forked_ && boot_clock::now() < deadline();
    }

    const std::uint64_t forked_ = base::fork_generation();
    std::atomic<milliseconds::rep> lease_;
    std::atomic<bool> renewed_;
    std::atomic<boot_clock::rep> deadline_;
    std::atomic<lease_state> state_{lease_state::held};
    base::mutex mutex_;
    std::stop_source lost_ GUARDED_BY(mutex_){
        std::nostopstate};  // made by the first lost_token(), which is rare
    bool callbacks_ GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::session
