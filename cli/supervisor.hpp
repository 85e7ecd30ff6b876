// What becomes of a command whose lock may be lost: decisions only, no process, no clock.
#pragma once

#include <holdfast/config.hpp>
#include <holdfast/types.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::cli {

enum class on_loss {
    term,    // TERM, and KILL when the grace is over
    kill,    // KILL at once
    ignore,  // tell the command through its pipe and let it run
};

// How much time before the end of a lease the command is ended, so that it is gone when the lock can be
// granted again.
struct ending_times {
    // Between KILL and the end of the lease, for the kernel and for a busy machine to carry it out.
    std::chrono::milliseconds margin{};
    // The longest grace that still leaves renewals a chance to fail and be tried again before TERM must go
    // out. Negative: the lease is too short for any.
    std::chrono::milliseconds longest_grace{};
};
[[nodiscard]] ending_times ending_times_for(std::chrono::milliseconds ttl, const config& settings);

struct supervision {
    on_loss policy = on_loss::term;
    std::chrono::milliseconds grace{};   // between TERM and KILL
    std::chrono::milliseconds margin{};  // see ending_times
    std::optional<std::chrono::milliseconds> max_hold{};
    std::chrono::milliseconds at_least{0};
};

// The leases of all locks taken together: the first to end counts.
struct lease_view {
    bool valid = true;
    bool jeopardy = false;  // renewal is failing
    boot_clock::time_point deadline{};
};

// What happened. Everything else than `looked` is a look, too.
struct looked {};  // all that the guard has reported by `now` was told before
struct told {      // a signal for the command was sent to us
    int signal = 0;
};
struct stopped {};  // the command was stopped, as a job of a shell
struct ended {      // the command ended; as a shell counts it: its code, or 128 + signal
    int code = 0;
    boot_clock::time_point at{};
};
struct ended_by_guard {};  // the guard has begun to end it, because this process was late
struct guard_kills_it {};  // the guard has got the order to kill
struct guard_lost {};      // somebody has killed the guard: without one the command must not go on
struct all_ended {};       // after KILL: what the command started is gone, too
struct not_started {
    int code = 0;
};
using run_event = std::variant<looked, told, stopped, ended, ended_by_guard, guard_kills_it, guard_lost,
                               all_ended, not_started>;

enum class why_ended {
    not_yet,
    lost,      // the lock was lost while the command ran
    expiring,  // the lease was about to end and could not be renewed
    late,      // the same, and this process stood still: the guard ended the command
    max_hold,  // the time of --max-hold was over
};

// The numbers of those of several leases because of which the command is ended, or warned (not_yet): all of
// them, if it cannot be told which. There is at least one.
[[nodiscard]] std::vector<std::size_t> leases_behind(why_ended why, const std::vector<lease_view>& leases);

// What is to be done now, in this order.
struct run_action {
    int signal = 0;              // TERM or KILL for the command's process group; 0: none
    bool warn = false;           // ring the command's pipe and tell the user why (see supervisor::why())
    int forward = 0;             // a signal to hand on to the group; 0: none
    bool stop_with_it = false;   // stop this process, too
    bool replace_guard = false;  // it does not answer: this process does its work
    bool give_back = false;      // nothing runs under the locks any more: release them and exit
    boot_clock::time_point look_again = boot_clock::time_point::max();
};

//  phase    | the command                        | leaves when
//  ---------|------------------------------------|---------------------------------------------------
//  guarded  | runs, and the locks are held       | it ends, the lease is (nearly) lost, max_hold is over,
//           |                                    | the guard is lost
//  unguarded| runs without the locks (ignore)    | it ends, the guard is lost
//  ending   | was sent TERM                      | it ends, or the grace is over
//  killed   | was sent KILL                      | it ends
//  clearing | ended; KILL goes to what it started| nothing is left
//  resting  | ended; at_least is not over        | at_least is over, the lease is lost, a signal comes
//  over     | is gone                            |
enum class run_phase { guarded, unguarded, ending, killed, clearing, resting, over };

class supervisor {
  public:
    using time_point = boot_clock::time_point;

    // Begins when the last lock was granted. `deadline`: of the leases at that time.
    supervisor(const supervision& rules, time_point held_since, time_point deadline = {})
        : rules_(rules), held_since_(held_since), deadline_(deadline) {}

    [[nodiscard]] run_action resume(const run_event& what, const lease_view& seen, time_point now);

    // What the release of a lock said. Only before exit_code() is asked.
    void gave_back(bool already_lost) noexcept;

    // When the guard is to send TERM and KILL if it hears nothing later: after this process would have, and
    // in time.
    struct limits {
        time_point term_by;
        time_point kill_by;
    };
    [[nodiscard]] limits limits_for_guard(time_point now) const noexcept;

    [[nodiscard]] run_phase phase() const noexcept { return phase_; }
    [[nodiscard]] why_ended why() const noexcept { return why_; }
    // The lock was held when the command ended, and has been lost since.
    [[nodiscard]] bool lost_later() const noexcept { return lost_later_; }
    // Never 0 when the lock was lost while the command ran, or may have been.
    [[nodiscard]] int exit_code() const noexcept;

  private:
    void look(const lease_view& seen, time_point now, run_action& todo);
    void look_while_guarded(const lease_view& seen, time_point now, run_action& todo);
    void kill_it(time_point now, run_action& todo);
    void expect_answer_of_guard(time_point now) noexcept;
    void look_for_answer_of_guard(time_point now, run_action& todo);
    void end_it(why_ended why, time_point now, run_action& todo);
    void hand_on(int signal, run_action& todo);
    void command_ended(const ended& how, const lease_view& seen, time_point now, run_action& todo);
    [[nodiscard]] time_point kill_at() const noexcept;

    supervision rules_;
    time_point held_since_;
    run_phase phase_ = run_phase::guarded;
    why_ended why_ = why_ended::not_yet;
    bool warned_ = false;
    bool ran_ = true;
    bool lost_later_ = false;
    int code_ = 0;
    int interrupted_by_ = 0;
    bool renewed_ = false;                        // the deadline has moved since the first look
    time_point deadline_{};                       // the latest that was seen while the lease was valid
    time_point term_at_{};                        // in ending
    bool guard_owes_answer_ = false;              // to the order to kill
    time_point guard_told_at_{};                  // that order was given then, or a little later
    std::optional<time_point> guard_answers_by_;  // since the first look after that order
    std::optional<time_point> late_since_;  // the lease runs out, but nothing says that renewing it fails
};

}  // namespace holdfast::cli
