// Decides when to end a command whose lock may be lost. Decisions only: no process, no clock.
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
    ignore,  // notify the command through its pipe and let it run
};

// How long before the end of a lease the command is ended, so that it is gone when the lock can be granted
// again.
struct ending_times {
    // Between KILL and the end of the lease: a busy machine needs time to carry out KILL.
    std::chrono::milliseconds margin{};
    // The longest grace that leaves time for a renewal to fail and be tried again before TERM is due.
    // Negative: the lease is too short for any grace.
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

// The leases of all locks as one: the first to end counts.
struct lease_view {
    bool valid = true;
    bool jeopardy = false;  // renewal is failing
    boot_clock::time_point deadline{};
};

// What happened. With each event the supervisor also looks at the leases.
struct looked {};         // comes after all events that the guard has reported by `now`
struct signal_received {  // a signal for the command was sent to us
    int signal = 0;
};
struct stopped {};  // the command was stopped, as a job of a shell
struct ended {      // the command ended; the code as in a shell: its own, or 128 + signal
    int code = 0;
    boot_clock::time_point at{};
};
struct ended_by_guard {};  // the guard has begun to end the command, because this process was late
struct guard_kills_it {};  // the guard has received the order to kill
struct guard_lost {};      // somebody has killed the guard: the command must not go on without one
struct all_ended {};       // after KILL: the processes that the command started are gone, too
struct not_started {
    int code = 0;
};
using run_event = std::variant<looked, signal_received, stopped, ended, ended_by_guard, guard_kills_it,
                               guard_lost, all_ended, not_started>;

enum class why_ended {
    not_yet,
    lost,      // the lock was lost while the command ran
    expiring,  // the lease was about to end and could not be renewed
    late,      // the same, and this process was suspended: the guard ended the command
    max_hold,  // the time of --max-hold was over
};

// The indexes of the leases because of which the command is ended, or warned (not_yet): all, if it is not
// known which. `leases` is not empty.
[[nodiscard]] std::vector<std::size_t> leases_behind(why_ended why, const std::vector<lease_view>& leases);

// What to do now, in this order.
struct run_action {
    int signal = 0;     // TERM or KILL for the command's process group; 0: none
    bool warn = false;  // notify the command by its pipe and tell the user why (see supervisor::why())
    int forward = 0;    // a signal to forward to the group; 0: none
    bool stop_with_it = false;   // stop this process, too
    bool replace_guard = false;  // it does not answer: this process takes over its work
    bool release = false;        // nothing runs under the locks: release them and exit
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

    // `held_since` is when the last lock was granted, `deadline` that of the leases at that time.
    supervisor(const supervision& rules, time_point held_since, time_point deadline = {})
        : rules_(rules), held_since_(held_since), deadline_(deadline) {}

    [[nodiscard]] run_action resume(const run_event& what, const lease_view& seen, time_point now);

    // The outcome of the release of a lock. Call it before exit_code().
    void released(bool already_lost) noexcept;

    // When the guard sends TERM and KILL if it gets no later deadline: after this process would have, and in
    // time.
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
    void look(const lease_view& seen, time_point now, run_action& action);
    void look_while_guarded(const lease_view& seen, time_point now, run_action& action);
    void kill_it(time_point now, run_action& action);
    void expect_guard_answer(time_point now) noexcept;
    void check_guard_answer(time_point now, run_action& action);
    void end_it(why_ended why, time_point now, run_action& action);
    void forward(int signal, run_action& action);
    void command_ended(const ended& how, const lease_view& seen, time_point now, run_action& action);
    [[nodiscard]] time_point kill_at() const noexcept;
    // A lease may last for less than the ttl that the margin was made for.
    [[nodiscard]] time_point kill_by() const noexcept;
    // The whole grace does not fit into the lease.
    [[nodiscard]] bool is_short() const noexcept;

    supervision rules_;
    time_point held_since_;
    run_phase phase_ = run_phase::guarded;
    why_ended why_ = why_ended::not_yet;
    bool warned_ = false;
    bool ran_ = true;
    bool lost_later_ = false;
    int code_ = 0;
    int interrupted_by_ = 0;
    bool renewed_ = false;  // the deadline has moved since the first look
    bool moved_ = false;    // the same, since the last look
    // What was left when the deadline had moved: the last time, and at most.
    boot_clock::duration room_ = boot_clock::duration::max();
    std::optional<boot_clock::duration> longest_room_;
    time_point deadline_{};                      // the latest that was seen while the lease was valid
    time_point term_at_{};                       // in ending
    bool awaits_guard_ = false;                  // its answer to the order to kill
    time_point kill_ordered_at_{};               // that order was given then, or a little later
    std::optional<time_point> guard_answer_by_;  // set at the first look after that order
    std::optional<time_point> late_since_;       // the lease is about to end, but no renewal has failed
};

}  // namespace holdfast::cli
