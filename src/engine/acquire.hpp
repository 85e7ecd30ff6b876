// One acquisition, decided without I/O: attempt, listen, attempt, wait, attempt ... until it is granted or
// gives up. The session passes in events and carries out the actions; tests do the same in virtual time.
//
//   state      | waits for            | attempt answered      | woken               | time is up
//   asking     | the answer           | granted, or onwards   | remembered          | as if unknown
//   listening  | the watch            | -                     | remembered          | attempt without it
//   waiting    | a message or a time  | -                     | granted, or attempt | attempt, or give up
//   done       | nothing
#pragma once

#include "engine/retry_policy.hpp"
#include "store/requests.hpp"

#include <memory>
#include <optional>
#include <variant>

namespace holdfast::engine {

struct acquire_settings {
    milliseconds lease{30'000};
    clock_margin margin;
    std::uint32_t replicas = 0;  // that must have the grant; if any, a message alone grants nothing
    bool once = false;           // one answer, no wait
    time_point give_up_at = time_point::max();  // for waits
    bool listen = true;                         // the store sends wakes and we may receive them
    bool expect_queue = false;                  // others wait: queue at once, without a first look
    // After a message that wakes all waiters, the waiter pauses for this long; after the next one for half of
    // it, and so on. Otherwise the server's order of subscribers would decide who gets the lock, and the last
    // would never get it.
    boot_clock::duration stagger{0};
    milliseconds poll_gap{1'000};
    milliseconds silent_poll{40};
    milliseconds patience{10'000};
    milliseconds answer_timeout{2'000};
};

// --- events ---------------------------------------------------------------------------------------
struct begun {};
struct answered {
    unsigned number = 0;  // of the attempt
    backend::attempt_answer answer;
};
struct watched {
    backend::watch_event event;
};
struct elapsed {};    // the last action's `until` is reached
struct cancelled {};  // the caller gave up
using acquire_event = std::variant<begun, answered, watched, elapsed, cancelled>;

// --- actions --------------------------------------------------------------------------------------
enum class undo {
    none,    // nothing can have been left behind
    once,    // release what may have been granted or queued
    insist,  // the same, and again later: a request may still be on its way to the store
};

struct send_attempt {  // its answer, or elapsed at `until`
    backend::intent want;
    time_point until;
    unsigned number = 0;
};
struct listen {  // begin to watch; its events, or elapsed at `until`
    time_point until;
};
struct wait {  // events of the watch, or elapsed at `until`
    time_point until;
};
struct hold_it {  // granted: valid until `deadline`, and no longer than `bound`
    time_point deadline;
    holdfast::fence fence = holdfast::fence::none;
    bool claim = false;  // granted by a wake for a short time: renew at once to get the whole lease
    bool stray = false;  // an unanswered attempt may still reach the store: repeat the undo after the release
    std::uint32_t acks = 0;  // replicas that have the grant
    // A message came during the attempt: it may be older than the grant, or report its end.
    bool in_doubt = false;
    // The latest time until which the store may keep the lock, by all requests so far.
    time_point expires_by{};
    std::shared_ptr<const backend::bound> bound{};
    std::optional<strength> weaker{};  // see backend::granted
};
struct give_up {
    backend::failure why;  // errc::timed_out: another owner has the lock
    undo cleanup = undo::none;
    std::string holder;  // the last known holder
};
using acquire_action = std::variant<send_attempt, listen, wait, hold_it, give_up>;

class acquire {
  public:
    explicit acquire(const acquire_settings& how) : how_(how) {}

    [[nodiscard]] acquire_action resume(acquire_event event, time_point now);

  private:
    enum class state { asking, listening, waiting, done };

    acquire_action on(begun, time_point now);
    acquire_action on(answered&& event, time_point now);
    acquire_action on(watched&& event, time_point now);
    acquire_action on(elapsed, time_point now);
    acquire_action on(cancelled, time_point now);

    acquire_action on_answer(const backend::granted& a, time_point now);
    acquire_action on_answer(const backend::busy& a, time_point now);
    acquire_action on_answer(const backend::refused& a, time_point now);
    acquire_action on_answer(const backend::unknown& a, time_point now);

    acquire_action attempt(time_point now);
    acquire_action no_answer(const backend::failure& what, time_point now);
    acquire_action sit_out(const backend::refused& what, time_point now);
    acquire_action handed_over(time_point now);
    acquire_action grant(hold_it what, milliseconds kept_for, time_point now);
    acquire_action stop(backend::failure why, undo at_least = undo::none);
    acquire_action begin_listening(time_point now);
    acquire_action wait_until(time_point until);
    [[nodiscard]] acquire_action go_on() const { return wait{until_}; }

    const acquire_settings how_;
    state state_ = state::done;
    time_point until_{};  // of the last action

    unsigned attempts_ = 0;  // sent so far
    time_point first_sent_{};
    lease_request last_sent_{time_point{}, how_.lease};
    bool queued_ = false;                     // one of them joined the queue
    std::optional<lease_request> uncertain_;  // the latest attempt without an answer
    bool granted_late_ = false;               // a grant came after its lease had ended

    std::optional<backend::busy> last_busy_;
    lease_request last_busy_sent_{time_point{}, how_.lease};  // the attempt that last_busy_ answers

    std::optional<time_point> silent_since_;  // start of the present run of failures
    bool sits_out_ = false;     // the store named a time when it may grant; no busy answer since
    milliseconds prospect_{0};  // in its last answer
    time_point believed_until_{};
    backend::failure last_failure_;
    unsigned failures_ = 0;  // in a row, for the back-off

    bool listen_asked_ = false;
    bool listening_ = false;
    unsigned messages_ = 0;     // messages without a ticket that caused a pause so far
    bool look_again_ = false;   // a message without a ticket came during an attempt
    std::string early_ticket_;  // ticket of a message that came during an attempt
};

}  // namespace holdfast::engine
