#include "cli/run/under_lock.hpp"

#include "base/text.hpp"
#include "cli/output/error_output.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/format.hpp"
#include "cli/process/terminal.hpp"
#include "cli/process/wake_fds.hpp"
#include "cli/run/child.hpp"
#include "cli/run/event_inbox.hpp"
#include "cli/run/guard.hpp"
#include "cli/run/lock_wait.hpp"
#include "cli/run/lost_pipe.hpp"
#include "cli/run/on_terminate.hpp"
#include "cli/run/overloaded.hpp"
#include "cli/run/run_log.hpp"
#include "cli/run/run_report.hpp"

#include <holdfast/client.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace holdfast::cli {

namespace {

// The kernel frees a lock in a file when the last process that has it open ends. If `run` is killed, the
// guard and the command keep the lock until the guard has ended the command.
std::string kept_by_children(std::string url) {
    if (!url.starts_with("file:") || url.find("children=") != std::string::npos) return url;
    return url + (url.find('?') == std::string::npos ? "?" : "&") + "children=hold_on";
}

// An evicted command is ended before the lock is free.
config with_time_to_end(config settings) {
    settings.keep_evicted = true;
    settings.url = kept_by_children(std::move(settings.url));
    for (auto& p : settings.policies)
        if (p.outage == on_outage::fail_open_host) p.substitute = kept_by_children(substitute_of(p));
    return settings;
}

// Reads the deadline before valid(). In the other order, the lease might end in between, and the deadline
// would mean nothing. A deadline that a renewal has made too early does no harm.
lease_view look_at(const lease& one) {
    const auto deadline = one.deadline();
    return {.valid = one.valid(), .jeopardy = one.state() == lease_state::jeopardy, .deadline = deadline};
}

class guarded_run {
  public:
    guarded_run(const config& settings, const run_request& wanted)
        : wanted_(wanted), log_(wanted.json_fd, wanted.verbose), client_(with_time_to_end(settings)) {}

    int run() {
        if (const auto code = waiting_.acquire_all(locks_)) return *code;
        held_since_ = boot_clock::now();
        return run_the_command();
    }
    [[nodiscard]] run_times times() const {
        if (!held_since_) return {boot_clock::now() - begun_, {}};
        run_times all{*held_since_ - begun_, {}};
        if (end_) all.ran = end_->at - *held_since_;
        return all;
    }

  private:
    int run_the_command();
    [[noreturn]] static void give_up(const std::exception& why) noexcept;
    void start(supervisor& watch);
    void watch_over(supervisor& watch);
    void read_signals(supervisor& watch);
    void read_reports(supervisor& watch);
    void command_stopped(supervisor& watch, int by);
    void command_ended(supervisor& watch, const child_ended& end);
    void handle_dead_guard(supervisor& watch);
    void instruct_guard(const supervisor& watch);
    void leave_child(const supervisor& watch);
    void feed(supervisor& watch, const run_event& what);
    void feed_last(supervisor& watch, const run_event& what);
    [[nodiscard]] static run_action decide(supervisor& watch, const run_event& what, const lease_view& seen,
                                           boot_clock::time_point now);
    void carry_out(supervisor& watch, const run_action& action);
    void stop_with_the_command();
    void continue_in_foreground();
    void report_stopped();
    void release_locks(supervisor& watch);

    [[nodiscard]] const held_lock& held(const std::string& name) const;
    [[nodiscard]] lease_view look_at_leases() const;
    [[nodiscard]] std::vector<std::string> locks_behind(why_ended why) const;
    [[nodiscard]] launch how_to_launch(const supervisor& watch) const;
    [[nodiscard]] guard_order order_for(const supervisor& watch) const;
    [[nodiscard]] std::string joined(const std::function<std::string(const held_lock&)>& text) const;

    const run_request& wanted_;
    lost_pipe lost_;        // first: its descriptor gets one digit; some shells can redirect from no other
    signal_inbox signals_;  // before the client and its threads
    terminal terminal_;
    run_log log_;
    run_report report_{log_, wanted_};
    wake_event lease_lost_;
    wake_timer alarm_;
    client client_;
    event_inbox events_{client_};
    lock_wait waiting_{client_, wanted_, signals_, events_, log_, report_};
    std::optional<acquire_locks> locks_;
    std::optional<child> child_;
    std::optional<guard_order> last_order_;
    const boot_clock::time_point begun_ = boot_clock::now();
    std::optional<boot_clock::time_point> held_since_;
    std::optional<child_ended> end_;  // of the command
    int stopped_by_ = 0;              // the signal, as far as is known: a CONT to the command is not reported
    bool wants_terminal_ = false;
    bool stop_now_ = false;
    bool over_ = false;
};

// --- during ------------------------------------------------------------------------------------

int guarded_run::run_the_command() {
    supervisor watch{wanted_.rules, boot_clock::now(), look_at_leases().deadline};
    try {
        std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> listeners;
        for (const auto& one : locks_->locks()) {
            listeners.push_back(std::make_unique<std::stop_callback<std::function<void()>>>(
                one.hold.lost_token(), [this] { lease_lost_.notify(); }));
        }
        start(watch);
        // A thread of the client may lack memory, too.
        std::optional<on_terminate> on_other_threads;
        if (child_) on_other_threads.emplace(give_up);
        while (!over_) watch_over(watch);
    } catch (const std::exception& e) {
        const bool at_work = watch.phase() != run_phase::resting && !over_;
        if (child_ && at_work) give_up(e);
        throw;
    }
    if (child_) terminal_.take_back_from(child_->pid());
    release_locks(watch);
    if (child_) leave_child(watch);
    return watch.exit_code();
}

// The command runs: if the locks were released on the way out, the next holder would begin beside it. They
// expire by themselves, and the guard ends the command before that. There may be no memory for the message.
void guarded_run::give_up(const std::exception& why) noexcept {
    static std::atomic_flag by_another_thread;
    while (by_another_thread.test_and_set()) ::pause();
    constexpr std::string_view before = "holdfast: ";
    constexpr std::string_view after =
        ": the guard process takes over the command, and the lock expires by itself\n";
    const auto part = [](std::string_view text) {
        return iovec{const_cast<char*>(text.data()), text.size()};
    };
    const std::array<iovec, 3> line{part(before), part(why.what()), part(after)};
    pollfd people{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&people, 1, 0) > 0) {
        [[maybe_unused]] const auto n = ::writev(STDERR_FILENO, line.data(), line.size());
    }
    ::_exit(exit_code_for(why));
}

void guarded_run::start(supervisor& watch) {
    const auto& locks = locks_->locks();
    const auto lost = std::ranges::find_if(locks, [](const held_lock& one) { return !one.hold.valid(); });
    if (lost != locks.end()) {
        report_.lost_before_start(lost->name);
        return feed(watch, not_started{exit_code::lost});
    }
    wants_terminal_ = terminal_.to_be_given_at_start();
    auto started = child::start(how_to_launch(watch), signals_);
    if (const auto* failed = std::get_if<start_failure>(&started)) {
        if (wants_terminal_) terminal_.give_to(::getpgrp());
        if (failed->which == start_failure::part::guard) {
            constexpr auto what = "the command is not run, because its guard process cannot be started";
            const std::error_code why{failed->error, std::generic_category()};
            const auto lacking = missing_resource(why);
            log_.say(what + (why ? ": " + why.message() : std::string{}) +
                     (lacking.empty() ? std::string{} : "; " + std::string{lacking}));
            return feed(watch, not_started{lacking.empty() ? exit_code::internal : exit_code::system});
        }
        const bool missing = failed->error == ENOENT || failed->error == ENOTDIR;
        log_.say(fmt::format("cannot run {}: {}", in_quotes(wanted_.command.front()),
                             std::generic_category().message(failed->error)));
        return feed(watch, not_started{missing ? exit_code::not_found : exit_code::cannot_execute});
    }
    child_ = std::move(std::get<child>(started));
    log_.write_event("started", {{"pid", child_->pid()}});
    feed_last(watch, looked{});
}

launch guarded_run::how_to_launch(const supervisor& watch) const {
    launch how;
    how.words = wanted_.command;
    how.variables = {
        {"HOLDFAST_LOCK", joined([](const held_lock& one) { return one.name; })},
        {"HOLDFAST_TOKEN", joined([](const held_lock& one) { return one.hold.owner().str(); })},
        {"HOLDFAST_LOST_FD", std::to_string(lost_.for_command())},
        {"HOLDFAST_STRENGTH",
         joined([](const held_lock& one) { return std::string{to_string(one.hold.strength())}; })},
    };
    if (gives_fences(wanted_.locks.kind)) {
        how.variables.emplace_back("HOLDFAST_FENCE", joined([](const held_lock& one) {
                                       return std::to_string(to_number(one.hold.fence()));
                                   }));
    } else {
        how.removed = {"HOLDFAST_FENCE"};  // that of a `holdfast run` around this one would be the wrong one
    }
    how.kept_open = lost_.for_command();
    if (wants_terminal_) how.terminal = terminal_.fd();
    how.guard_title = guard_title(in_quotes(wanted_.names));
    how.first_order = order_for(watch);
    return how;
}

guard_order guarded_run::order_for(const supervisor& watch) const {
    using task = guard_order::task;
    guard_order order;
    const auto limits = watch.limits_for_guard(boot_clock::now());
    order.term_by = limits.term_by;
    order.kill_by = limits.kill_by;
    order.grace = wanted_.rules.grace;
    switch (watch.phase()) {
        case run_phase::guarded:
            order.what = wanted_.rules.policy == on_loss::ignore ? task::look_on : task::watch;
            break;
        case run_phase::ending: order.what = task::term; break;
        case run_phase::killed:
        case run_phase::clearing: order.what = task::kill; break;
        case run_phase::unguarded:
        case run_phase::resting:
        case run_phase::over: order.what = task::look_on; break;
    }
    return order;
}

// The guard need not get every deadline, but it needs a later one well before the one that it knows.
void guarded_run::instruct_guard(const supervisor& watch) {
    const auto order = order_for(watch);
    if (last_order_ && last_order_->what == order.what && last_order_->kill_by == order.kill_by) return;
    if (child_->order(order)) last_order_ = order;
}

// A line per lock, in the user's order, not in the order of acquisition.
std::string guarded_run::joined(const std::function<std::string(const held_lock&)>& text) const {
    std::string all;
    for (const auto& name : wanted_.names) {
        if (&name != &wanted_.names.front()) all += '\n';
        all += text(held(name));
    }
    return all;
}

const held_lock& guarded_run::held(const std::string& name) const {
    return *std::ranges::find(locks_->locks(), name, &held_lock::name);
}

lease_view guarded_run::look_at_leases() const {
    lease_view seen{.valid = true, .jeopardy = false, .deadline = boot_clock::time_point::max()};
    for (const auto& one : locks_->locks()) {
        const auto its = look_at(one.hold);
        seen.deadline = std::min(seen.deadline, its.deadline);
        seen.jeopardy = seen.jeopardy || its.jeopardy;
        seen.valid = seen.valid && its.valid;
    }
    return seen;
}

// The locks to name in the message that says why the command is ended. Other locks may be held as before.
std::vector<std::string> guarded_run::locks_behind(why_ended why) const {
    std::vector<lease_view> leases;
    for (const auto& name : wanted_.names) leases.push_back(look_at(held(name).hold));
    std::vector<std::string> behind;
    for (const auto i : leases_behind(why, leases)) behind.push_back(wanted_.names[i]);
    return behind;
}

void guarded_run::watch_over(supervisor& watch) {
    log_.wait({signals_.fd(), alarm_.fd(), lease_lost_.fd(), events_.fd(), child_->fd()});
    alarm_.clear();
    lease_lost_.clear();
    // We may have been stopped for longer than the lease: look at the lease before any signal.
    feed_last(watch, looked{});
    report_.events(events_.take());
    if (!over_) read_signals(watch);
    // Last: read first what the guard has reported about the command meanwhile.
    if (std::exchange(stop_now_, false) && !over_) stop_with_the_command();
}

void guarded_run::read_signals(supervisor& watch) {
    while (const auto signal = signals_.next()) {
        if (*signal == SIGCHLD) {
            child_->tend();  // the guard reports the command's end
        } else {
            feed_last(watch, signal_received{*signal});
        }
        if (over_) return;
    }
}

void guarded_run::read_reports(supervisor& watch) {
    // Read all reports first, so that what we say of the command is true when we say it.
    std::vector<child_change> changes;
    while (const auto change = child_->next_change()) {
        changes.push_back(*change);
        if (const auto* end = std::get_if<child_ended>(&*change)) end_ = *end;
    }
    for (const auto& change : changes) {
        if (over_) return;
        std::visit(overloaded{
                       [&](const child_stopped& e) { command_stopped(watch, e.signal); },
                       [&](const child_ended& e) { command_ended(watch, e); },
                       [&](const guard_began&) { feed(watch, ended_by_guard{}); },
                       [&](const guard_kills&) { feed(watch, guard_kills_it{}); },
                       [&](const cannot_end& e) { report_.waits_for(e); },
                       [&](const nothing_left& e) {
                           report_.may_run_on(e);
                           feed(watch, all_ended{});
                       },
                       [&](const guard_died&) { handle_dead_guard(watch); },
                   },
                   change);
    }
}

void guarded_run::command_stopped(supervisor& watch, int by) {
    const bool wants_to_read = by == SIGTTIN || by == SIGTTOU;
    stopped_by_ = by;
    if (wants_to_read && terminal_.is_ours()) {
        // It started in the background and wants the terminal, which we can give to it.
        wants_terminal_ = true;
        continue_in_foreground();
        return;
    }
    wants_terminal_ = wants_terminal_ || wants_to_read;
    // A shell that shows the job as stopped can continue it. Without such a shell, nobody would continue us
    // when the command is continued, so we go on renewing.
    const bool in_foreground = terminal_.is_ours() || terminal_.belongs_to(child_->pid());
    if (in_foreground || (wants_to_read && terminal_.fd() >= 0)) return feed(watch, stopped{});
    report_stopped();
}

void guarded_run::report_stopped() {
    log_.mention(fmt::format("the command was stopped by {}; its lock is renewed", signal_text(stopped_by_)));
}

void guarded_run::command_ended(supervisor& watch, const child_ended& end) {
    terminal_.take_back_from(child_->pid());  // --at-least may take long, and its keys are for us then
    feed(watch, ended{end.code(), end.at});
    log_.write_event("exited", end.by_signal != 0
                                   ? nlohmann::ordered_json{{"signal", signal_text(end.by_signal)}}
                                   : nlohmann::ordered_json{{"code", end.status}});
}

void guarded_run::handle_dead_guard(supervisor& watch) {
    if (watch.phase() == run_phase::resting) return;  // there is nothing left to be ended
    log_.say("the guard process was killed, so the command and all that it started are killed, too");
    child_->end_without_guard();
    feed(watch, guard_lost{});
}

void guarded_run::feed(supervisor& watch, const run_event& what) {
    const auto now = boot_clock::now();
    carry_out(watch, decide(watch, what, look_at_leases(), now));
}

// Reads the reports about the command before it handles `what`: the command may have ended before the lock
// was lost. We may be stopped between any two of these lines. So the reports are read after the look at the
// leases, or they might be older than the loss; and after `now`, or a guard whose report is there could seem
// late.
void guarded_run::feed_last(supervisor& watch, const run_event& what) {
    const auto now = boot_clock::now();
    const auto seen = look_at_leases();
    read_reports(watch);
    if (over_) return;
    auto action = decide(watch, what, seen, now);
    if (child_) {
        if (const auto again = child_->replace_late_guard(now))
            action.look_again = std::min(action.look_again, *again);
    }
    carry_out(watch, action);
}

run_action guarded_run::decide(supervisor& watch, const run_event& what, const lease_view& seen,
                               boot_clock::time_point now) {
    auto action = watch.resume(what, seen, now);
    // The guard needs the next deadline long before the last one is near.
    if (watch.phase() == run_phase::guarded && seen.valid)
        action.look_again = std::min(action.look_again, now + (seen.deadline - now) / 2);
    return action;
}

// Processes that a command leaves behind when it ends in good order are left running, but reported.
void guarded_run::leave_child(const supervisor& watch) {
    const int left = child_->leave();
    if (left == 0 || (watch.why() != why_ended::not_yet && wanted_.rules.policy != on_loss::ignore)) return;
    report_.left_running(left);
}

void guarded_run::carry_out(supervisor& watch, const run_action& action) {
    if (action.signal != 0) {
        child_->signal(action.signal);
        if (action.signal == SIGTERM) child_->signal(SIGCONT);  // a stopped process does not see TERM
    }
    if (action.warn) {
        lost_.notify();
        report_.end_of_command(watch.why(), locks_behind(watch.why()), end_);
    }
    if (action.forward != 0) {
        if (action.forward == SIGCONT && wants_terminal_ && terminal_.is_ours())
            terminal_.give_to(child_->pid());
        child_->signal(action.forward);
        // As a shell does it: a stopped process does not see TERM.
        const bool ends = action.forward == SIGTERM || action.forward == SIGHUP || action.forward == SIGINT ||
                          action.forward == SIGQUIT;
        if (ends && stopped_by_ != 0) child_->signal(SIGCONT);
        if (ends || action.forward == SIGCONT) stopped_by_ = 0;
        log_.write_event("signal", {{"signal", signal_text(action.forward)}});
    }
    if (action.replace_guard) child_->replace_guard();
    stop_now_ = stop_now_ || action.stop_with_it;
    alarm_.set(action.look_again);
    over_ = action.release;
    if (child_) instruct_guard(watch);
}

void guarded_run::stop_with_the_command() {
    const bool had_it = terminal_.belongs_to(child_->pid());
    terminal_.take_back_from(child_->pid());
    // The CONT that wakes us stays in the inbox; we look at the leases before we forward it.
    if (signals_.stop_this_job() || stopped_by_ == 0) return;
    // No shell controls this job, so nobody would ever continue it: Ctrl-Z does nothing, as without us.
    if (had_it) return continue_in_foreground();
    // It would ask again at once for a terminal that we cannot give to it.
    if (stopped_by_ == SIGTTIN || stopped_by_ == SIGTTOU) return report_stopped();
    child_->signal(SIGCONT);
    stopped_by_ = 0;
}

void guarded_run::continue_in_foreground() {
    terminal_.give_to(child_->pid());
    child_->signal(SIGCONT);
    stopped_by_ = 0;
}

// --- after -------------------------------------------------------------------------------------

void guarded_run::release_locks(supervisor& watch) {
    auto& locks = locks_->locks();
    for (auto it = locks.rbegin(); it != locks.rend(); ++it) {
        auto& one = *it;
        const auto result = one.hold.release();
        std::string_view outcome;
        switch (result.outcome) {
            case release_outcome::released: outcome = "released"; break;
            case release_outcome::already_lost:
                outcome = "already_lost";
                if (watch.lost_later()) {
                    log_.say(
                        fmt::format("the lock {} was lost after the command had ended", in_quotes(one.name)));
                } else if (watch.why() == why_ended::not_yet) {
                    log_.say(fmt::format("the lock {} was lost while the command ran", in_quotes(one.name)));
                }
                break;
            case release_outcome::unknown_until:
                outcome = "unknown";
                report_.release_unknown(one.name, result);
                break;
        }
        watch.released(result.outcome == release_outcome::already_lost);
        log_.write_event("released", {{"name", json_text(one.name)}, {"outcome", outcome}});
    }
}

}  // namespace

int run_under_lock(const config& settings, const run_request& wanted) {
    const auto& metrics = wanted.metrics;
    const auto write = [&](int code, const run_times& times) {
        if (!metrics) return;
        try {
            metrics->write(code, times);
        } catch (const std::exception& e) {  // the exit code is that of the command
            (void)report_error(exit_code::output, e.what());
        }
    };
    std::optional<guarded_run> one;
    try {
        one.emplace(settings, wanted);
        const auto code = one->run();
        write(code, one->times());
        return code;
    } catch (const std::exception& e) {
        write(exit_code_for(e), one ? one->times() : run_times{});
        throw;
    }
}

}  // namespace holdfast::cli
