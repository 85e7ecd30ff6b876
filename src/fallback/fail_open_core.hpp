// The work of a store that fails open: what its requests do to the main store and to the substitute, and what
// happens while the main store is away.
#pragma once

#include "engine/retry_policy.hpp"
#include "fallback/breakers.hpp"
#include "fallback/contenders.hpp"
#include "fallback/fail_open.hpp"
#include "io/reactor.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace holdfast::fallback {

using namespace backend;

// How often leases that are held without the main store ask for it, and how late the lock of a lease that
// nobody released is free in the substitute.
inline constexpr milliseconds look_every{1'000};

[[nodiscard]] inline failure closing() { return {make_error_code(errc::closed), {}, {}}; }

// What requests and their handlers use, also after the store itself has gone.
class fail_open_core : public std::enable_shared_from_this<fail_open_core> {
  public:
    fail_open_core(fail_open_tools with, std::unique_ptr<store> substitute)
        : with_(std::move(with)),
          substitute_(std::move(substitute)),
          strength_there_(substitute_->has().guarantee),
          ask_every_there_(substitute_->has().ask_every),
          breakers_(*with_.all_breakers) {}

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done);
    void renew(std::span<const renew_request> all, time_point deadline,
               handler<std::vector<renew_answer>> done);
    void release(const release_request& r, time_point deadline, handler<release_answer> done);
    std::unique_ptr<watch_handle> watch(const lock_key& key, const owner_id& owner,
                                        handler<watch_event> on_event);

    // An operator asks the holder in the substitute to give up its lease.
    void on_request_to_give_up(const notice& n);
    void main_is_up();
    void close();
    void abandon() noexcept { substitute_->abandon(); }
    // The substitute only has to exclude: where it lacks a kind, a mutex will do.
    [[nodiscard]] kind kind_there(kind k) const noexcept {
        return substitute_->unsupported(k).empty() ? k : kind::native;
    }
    [[nodiscard]] lock_key key_there(const lock_key& key) const { return {kind_there(key.of), key.name}; }
    [[nodiscard]] bool closed() const noexcept { return closed_.load(); }

    const fail_open_tools& with() const noexcept { return with_; }
    store& substitute() const noexcept { return *substitute_; }

  private:
    struct round;
    struct renewals;

    [[nodiscard]] contenders::one enter(const attempt_request& r, time_point until);
    void ask_main(const std::shared_ptr<round>& to);
    [[nodiscard]] boot_clock::duration share_of(const round& r, time_point now) const;
    void on_main_answer(const std::shared_ptr<round>& to, attempt_answer&& got);
    void on_late_answer(const std::shared_ptr<round>& to, const attempt_answer& got);
    void after_outage(const std::shared_ptr<round>& to, attempt_answer&& got);
    void answer(const std::shared_ptr<round>& to, attempt_answer&& what);
    void waive(const std::shared_ptr<round>& to);
    [[nodiscard]] bool is_late(const std::shared_ptr<round>& to);
    void end_late(const std::shared_ptr<round>& to);
    void leave(const contenders::one& c);
    void leave_if_look(const std::shared_ptr<round>& to);
    void release_there(const contenders::one& c);
    void release_in_main(const contenders::one& c);
    void renew_restored(const contenders::one& c, milliseconds lease, time_point deadline);
    void undo_in_main(const lock_key& key, const owner_id& owner, milliseconds lease);
    // True if the holder is one whose attempt is being undone; releases it at once.
    bool undo_now(const lock_key& key, const std::string& holder);
    void remember_undone(const lock_key& key, const owner_id& owner, milliseconds lease);
    [[nodiscard]] bool permitted(const lock_key& key, strength at_least);
    // `server`: the one that was asked. Meanwhile another may have the lock.
    void report_to_breaker(const std::string& server, const attempt_answer& got);
    void look_soon();
    void look();
    void restore(const contenders::one& c);
    void on_restored(const contenders::one& c, const owner_id& as, milliseconds lease,
                     attempt_answer&& answer);
    // A request on another thread than that of the caller needs the client's own.
    template <class F>
    void on(std::thread::id caller, F f) {
        if (std::this_thread::get_id() == caller) return f();
        with_.given.reactor.post([self = shared_from_this(), f = std::move(f)]() mutable { f(); });
    }

    const fail_open_tools with_;
    std::unique_ptr<store> substitute_;
    const strength strength_there_;
    const milliseconds ask_every_there_;
    std::atomic<bool> closed_{false};
    contenders contenders_;
    breakers& breakers_;

    base::mutex mutex_;
    bool looks_ GUARDED_BY(mutex_) = false;  // a timer is set
    // Owners whose unanswered attempts are being undone: if one of them has the lock, nobody does.
    struct undone_owner {
        lock_key key;
        owner_id owner;
        time_point until;
    };
    std::deque<undone_owner> undone_ GUARDED_BY(mutex_);
};

// An attempt of an owner, from the request to the answer.
struct fail_open_core::round {
    contenders::one of;
    attempt_request asked;
    time_point deadline;
    handler<attempt_answer> done;
    std::thread::id caller;
    std::uint64_t number = 0;  // of this attempt of the owner
    unsigned tries = 0;        // so far
    std::string server{};      // that is asked by the present one
    bool in_time = true;       // the present one has as much time as an answer may need
    bool uncertain = false;    // one of them had no answer
};

}  // namespace holdfast::fallback
