#include "cli/under_lock.hpp"

#include "base/text.hpp"
#include "cli/child.hpp"
#include "cli/event_inbox.hpp"
#include "cli/exit_codes.hpp"
#include "cli/guard.hpp"
#include "cli/journal.hpp"
#include "cli/output.hpp"
#include "cli/overloaded.hpp"
#include "cli/run_report.hpp"
#include "cli/terminal.hpp"
#include "cli/waking.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/client.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/uio.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

// The pipe whose reading end the command gets as HOLDFAST_LOST_FD: a byte comes, or the other end closes,
// when the command must no longer count on the lock.
class lost_pipe {
  public:
    lost_pipe() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
            throw std::system_error(errno, std::generic_category(), "pipe2");
        }
        for_command_ = unique_fd{ends[0]};
        ours_ = unique_fd{ends[1]};
        ::fcntl(for_command_.get(), F_SETFL, 0);  // a shell's `read <&$HOLDFAST_LOST_FD` waits
    }
    void ring() noexcept { [[maybe_unused]] const auto n = ::write(ours_.get(), "!", 1); }
    [[nodiscard]] int for_command() const noexcept { return for_command_.get(); }

  private:
    unique_fd for_command_;
    unique_fd ours_;
};

// An evicted command is ended before the lock is free.
config with_time_to_end(config settings) {
    settings.keep_evicted = true;
    return settings;
}

class guarded_run {
  public:
    guarded_run(const config& settings, const run_request& wanted)
        : wanted_(wanted), journal_(wanted.json_fd, wanted.verbose), client_(with_time_to_end(settings)) {}

    int run() {
        if (const auto code = wait_for_locks()) return *code;
        return run_the_command();
    }

  private:
    // Empty: all are taken.
    std::optional<int> wait_for_locks();
    void tell_whom_we_wait_for(const std::string& name);
    void write_whom_we_wait_for(const std::string& name);

    int run_the_command();
    [[noreturn]] static void give_up(std::string_view why) noexcept;
    void start(supervisor& watch);
    void watch_over(supervisor& watch);
    void hear_signals(supervisor& watch);
    void hear_child(supervisor& watch);
    void command_stopped(supervisor& watch, int by);
    void command_ended(supervisor& watch, const child_ended& end);
    void guard_is_gone(supervisor& watch);
    void instruct_guard(const supervisor& watch);
    void leave_child(const supervisor& watch);
    void feed(supervisor& watch, const run_event& what);
    void feed_last(supervisor& watch, const run_event& what);
    void feed(supervisor& watch, const run_event& what, const lease_view& seen, boot_clock::time_point now);
    void obey(supervisor& watch, const run_action& todo);
    void stop_with_the_command();
    void continue_in_foreground();
    void tell_that_it_is_stopped();
    void give_back(supervisor& watch);

    [[nodiscard]] lease_view look_at_leases() const;
    [[nodiscard]] launch how_to_launch(const supervisor& watch) const;
    [[nodiscard]] guard_order order_for(const supervisor& watch) const;
    [[nodiscard]] std::string joined(const std::function<std::string(const held_lock&)>& text) const;
    // Blocks until one of the descriptors is readable, and flushes what readers were too slow for.
    void wait(std::initializer_list<int> readable);

    const run_request& wanted_;
    lost_pipe lost_;  // first: it gets a number of one digit, which is all that some shells can redirect from
    signal_inbox signals_;  // before the client and its threads
    terminal terminal_;
    journal journal_;
    run_report report_{journal_, wanted_};
    bell lost_bell_;
    alarm_clock alarm_;
    client client_;
    event_inbox events_{client_};
    std::atomic<bool> waiting_{true};
    std::jthread whom_;
    std::optional<acquisition> locks_;
    std::optional<child> child_;
    std::optional<guard_order> last_order_;
    std::optional<child_ended> end_;  // of the command
    int stopped_by_ = 0;              // the signal, as far as is known: nobody tells of the command's CONT
    bool wants_terminal_ = false;
    bool stop_now_ = false;
    bool over_ = false;
};

// --- before ------------------------------------------------------------------------------------

std::optional<int> guarded_run::wait_for_locks() {
    locks_.emplace(client_, wanted_.locks);
    std::string told_of;
    std::string told_why;
    int cancelled_by = 0;
    boot_clock::time_point impatient_at;
    while (true) {
        wait({signals_.fd(), locks_->fd(), alarm_.fd(), events_.fd()});
        report_.events(events_.take());
        while (const auto signal = signals_.next()) {
            switch (*signal) {
                case SIGINT:
                case SIGTERM:
                case SIGHUP:
                case SIGQUIT:
                    // Asked again: whatever may have been granted expires by itself. timeout(1) sends its
                    // signal twice, to the process and to its group.
                    if (cancelled_by != 0 && boot_clock::now() < impatient_at) break;
                    if (cancelled_by != 0) ::_exit(exit_code::by_signal(*signal));
                    cancelled_by = *signal;
                    impatient_at = boot_clock::now() + std::chrono::milliseconds{200};
                    journal_.tell("signal", {{"signal", signal_text(*signal)}});
                    locks_->cancel();
                    break;
                case SIGTSTP: signals_.stop_this_process(); break;
                default: break;  // for a command that does not run yet
            }
        }
        const auto now = locks_->progress();
        if (!now.held_up_by.empty() && now.held_up_by != told_why) {
            told_why = now.held_up_by;
            journal_.tell("waiting", {{"why", json_text(told_why)}});
            journal_.say("waiting: " + told_why);
        }
        if (!now.waiting_for.empty() && now.waiting_for != told_of) {
            told_of = now.waiting_for;
            journal_.tell("waiting", {{"name", json_text(told_of)}});
            if (journal_.verbose() || has_permits(wanted_.locks.kind))
                alarm_.set(boot_clock::now() + std::chrono::seconds{1});
        }
        pollfd due{alarm_.fd(), POLLIN, 0};
        if (::poll(&due, 1, 0) > 0) {
            alarm_.quiet();
            if (!now.waiting_for.empty()) tell_whom_we_wait_for(now.waiting_for);
        }
        if (now.what == acquisition::outcome::pending) continue;
        waiting_ = false;
        alarm_.set(boot_clock::time_point::max());
        if (cancelled_by != 0) {
            if (now.what == acquisition::outcome::taken) locks_->give_back();
            return exit_code::by_signal(cancelled_by);
        }
        switch (now.what) {
            case acquisition::outcome::conflict:
                journal_.tell("conflict", {{"name", json_text(told_of)}});
                journal_.mention(
                    fmt::format("did not get {}: somebody else has it", in_quotes(wanted_.names)));
                return wanted_.conflict_code;
            case acquisition::outcome::failed: std::rethrow_exception(locks_->failure());
            case acquisition::outcome::taken: report_.taken(locks_->locks()); return std::nullopt;
            case acquisition::outcome::cancelled:
            case acquisition::outcome::pending: return exit_code::internal;  // nobody else cancels
        }
    }
}

// Asking takes round trips, during which signals must be heard. It is a courtesy: where there is no memory or
// no thread to be had, nothing is said.
void guarded_run::tell_whom_we_wait_for(const std::string& name) {
    try {
        whom_ = std::jthread{[this, name] {
            try {
                write_whom_we_wait_for(name);
            } catch (const std::exception&) {
                // Nobody is waiting for it.
            }
        }};
    } catch (const std::system_error&) {
        journal_.mention(fmt::format("waiting for {}", in_quotes(name)));
    }
}

void guarded_run::write_whom_we_wait_for(const std::string& name) {
    std::string holder;
    try {
        const auto about = inspect(client_, name);
        // This wait may well be for ever, and so is told to everybody.
        const bool unset = has_permits(wanted_.locks.kind) && !wanted_.locks.of && about.layout == "free";
        if (!unset && !journal_.verbose()) return;
        if (unset) holder = ": nobody has said how many permits it has; give --of";
        if (!about.holders.empty()) {
            holder = ", held by " + process_text(about.holders.front().host, about.holders.front().pid);
        }
    } catch (const std::exception&) {
        // Then it is not known by whom.
    }
    if (!waiting_) return;
    // Not the journal, which is the main thread's. A reader who does not read must not hold up the end.
    line_sink{STDERR_FILENO}.put(fmt::format("holdfast: waiting for {}{}", in_quotes(name), holder));
}

// --- during ------------------------------------------------------------------------------------

int guarded_run::run_the_command() {
    supervisor watch{wanted_.rules, boot_clock::now(), look_at_leases().deadline};
    try {
        std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> listeners;
        for (const auto& one : locks_->locks()) {
            listeners.push_back(std::make_unique<std::stop_callback<std::function<void()>>>(
                one.hold.lost(), [this] { lost_bell_.ring(); }));
        }
        start(watch);
        while (!over_) watch_over(watch);
    } catch (const std::exception& e) {
        const bool at_work = watch.phase() != run_phase::resting && !over_;
        if (child_ && at_work) give_up(e.what());
        throw;
    }
    if (child_) terminal_.take_back_from(child_->pid());
    give_back(watch);
    if (child_) leave_child(watch);
    return watch.exit_code();
}

// The command runs: if the locks were given back on the way out, the next holder would begin beside it. They
// run out by themselves, and the guard ends the command before that. There may be no memory to say so with.
void guarded_run::give_up(std::string_view why) noexcept {
    constexpr std::string_view before = "holdfast: ";
    constexpr std::string_view after = ": the command is left to its guard, and the lock runs out\n";
    const auto part = [](std::string_view text) {
        return iovec{const_cast<char*>(text.data()), text.size()};
    };
    const std::array<iovec, 3> line{part(before), part(why), part(after)};
    pollfd people{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&people, 1, 0) > 0) {
        [[maybe_unused]] const auto n = ::writev(STDERR_FILENO, line.data(), line.size());
    }
    ::_exit(exit_code::internal);
}

void guarded_run::start(supervisor& watch) {
    if (!look_at_leases().valid) {
        journal_.say(
            fmt::format("the lock {} was lost before the command was started", in_quotes(wanted_.names)));
        return feed(watch, not_started{exit_code::lost});
    }
    wants_terminal_ = terminal_.to_be_given_at_start();
    auto started = child::start(how_to_launch(watch), signals_);
    if (const auto* failed = std::get_if<start_failure>(&started)) {
        if (wants_terminal_) terminal_.give_to(::getpgrp());
        if (failed->which == start_failure::part::guard) {
            journal_.say(
                "the guard of the command, without which it must not run, cannot be started" +
                (failed->error == 0 ? std::string{} : ": " + std::generic_category().message(failed->error)));
            return feed(watch, not_started{exit_code::internal});
        }
        const bool missing = failed->error == ENOENT || failed->error == ENOTDIR;
        journal_.say(fmt::format("cannot run {}: {}", in_quotes(wanted_.command.front()),
                                 std::generic_category().message(failed->error)));
        return feed(watch, not_started{missing ? exit_code::not_found : exit_code::cannot_execute});
    }
    child_ = std::move(std::get<child>(started));
    journal_.tell("started", {{"pid", child_->pid()}});
    feed_last(watch, looked{});
}

launch guarded_run::how_to_launch(const supervisor& watch) const {
    launch how;
    how.words = wanted_.command;
    how.variables = {
        {"HOLDFAST_LOCK", joined([](const held_lock& one) { return one.name; })},
        {"HOLDFAST_TOKEN", joined([](const held_lock& one) { return one.hold.owner().str(); })},
        {"HOLDFAST_LOST_FD", std::to_string(lost_.for_command())},
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

// It need not hear of a deadline before the next is known, but well before the one it knows.
void guarded_run::instruct_guard(const supervisor& watch) {
    const auto order = order_for(watch);
    if (last_order_ && last_order_->what == order.what && last_order_->kill_by == order.kill_by) return;
    if (child_->order(order)) last_order_ = order;
}

// A line per lock, in the user's order, not in that in which they were taken.
std::string guarded_run::joined(const std::function<std::string(const held_lock&)>& text) const {
    std::string all;
    for (const auto& name : wanted_.names) {
        if (&name != &wanted_.names.front()) all += '\n';
        all += text(*std::ranges::find(locks_->locks(), name, &held_lock::name));
    }
    return all;
}

lease_view guarded_run::look_at_leases() const {
    lease_view seen{.valid = true, .jeopardy = false, .deadline = boot_clock::time_point::max()};
    for (const auto& one : locks_->locks()) {
        // The deadline before valid(): the other way round, the lease might end in between and leave a
        // deadline that means nothing. One that a renewal has made too early does no harm.
        seen.deadline = std::min(seen.deadline, one.hold.deadline());
        seen.jeopardy = seen.jeopardy || one.hold.state() == lease_state::jeopardy;
        seen.valid = seen.valid && one.hold.valid();
    }
    return seen;
}

void guarded_run::watch_over(supervisor& watch) {
    wait({signals_.fd(), alarm_.fd(), lost_bell_.fd(), events_.fd(), child_->fd()});
    alarm_.quiet();
    lost_bell_.quiet();
    // We may have been stopped for longer than the lease: look at it before any signal.
    feed_last(watch, looked{});
    report_.events(events_.take());
    if (!over_) hear_signals(watch);
    // Last: what has become of the command meanwhile is heard before anything else is done.
    if (std::exchange(stop_now_, false) && !over_) stop_with_the_command();
}

void guarded_run::hear_signals(supervisor& watch) {
    while (const auto signal = signals_.next()) {
        if (*signal == SIGCHLD) {
            child_->tend();  // the guard tells of the command's end
        } else {
            feed_last(watch, told{*signal});
        }
        if (over_) return;
    }
}

void guarded_run::hear_child(supervisor& watch) {
    // All news first, so that what is said of the command is true when it is said.
    std::vector<child_change> news;
    while (const auto change = child_->next_change()) {
        news.push_back(*change);
        if (const auto* end = std::get_if<child_ended>(&*change)) end_ = *end;
    }
    for (const auto& change : news) {
        if (over_) return;
        std::visit(overloaded{
                       [&](const child_stopped& e) { command_stopped(watch, e.signal); },
                       [&](const child_ended& e) { command_ended(watch, e); },
                       [&](const guard_began&) { feed(watch, ended_by_guard{}); },
                       [&](const guard_kills&) { feed(watch, guard_kills_it{}); },
                       [&](const cannot_end& e) { report_.waits_for(e); },
                       [&](const nothing_left& e) {
                           report_.what_may_go_on(e);
                           feed(watch, all_ended{});
                       },
                       [&](const guard_died&) { guard_is_gone(watch); },
                   },
                   change);
    }
}

void guarded_run::command_stopped(supervisor& watch, int by) {
    const bool wants_to_read = by == SIGTTIN || by == SIGTTOU;
    stopped_by_ = by;
    if (wants_to_read && terminal_.is_ours()) {
        // It started in the background and wants the terminal, which is ours to give.
        wants_terminal_ = true;
        continue_in_foreground();
        return;
    }
    wants_terminal_ = wants_terminal_ || wants_to_read;
    // A shell that shows the job as stopped can continue it. Elsewhere nobody would continue us when the
    // command is continued, so we go on renewing.
    const bool in_foreground = terminal_.is_ours() || terminal_.belongs_to(child_->pid());
    if (in_foreground || (wants_to_read && terminal_.fd() >= 0)) return feed(watch, stopped{});
    tell_that_it_is_stopped();
}

void guarded_run::tell_that_it_is_stopped() {
    journal_.mention(
        fmt::format("the command was stopped by {}; its lock is renewed", signal_text(stopped_by_)));
}

void guarded_run::command_ended(supervisor& watch, const child_ended& end) {
    terminal_.take_back_from(child_->pid());  // --at-least may rest for long, and its keys are for us
    feed(watch, ended{end.code(), end.at});
    journal_.tell("exited", end.by_signal != 0
                                ? nlohmann::ordered_json{{"signal", signal_text(end.by_signal)}}
                                : nlohmann::ordered_json{{"code", end.status}});
}

void guarded_run::guard_is_gone(supervisor& watch) {
    if (watch.phase() == run_phase::resting) return;  // there is nothing left to be ended
    journal_.say("the guard of the command was killed, and so are the command and all that it started");
    child_->end_without_guard();
    feed(watch, guard_lost{});
}

void guarded_run::feed(supervisor& watch, const run_event& what) {
    const auto now = boot_clock::now();
    feed(watch, what, look_at_leases(), now);
}

// After what has become of the command: it may have ended before the lock was lost. We may be stopped between
// any two of these lines, so that is heard after the look at the leases, or else it might be older than the
// loss.
void guarded_run::feed_last(supervisor& watch, const run_event& what) {
    const auto now = boot_clock::now();
    const auto seen = look_at_leases();
    hear_child(watch);
    if (!over_) feed(watch, what, seen, now);
}

void guarded_run::feed(supervisor& watch, const run_event& what, const lease_view& seen,
                       boot_clock::time_point now) {
    auto todo = watch.resume(what, seen, now);
    // The guard needs the next deadline long before the last one is near.
    if (watch.phase() == run_phase::guarded && seen.valid)
        todo.look_again = std::min(todo.look_again, now + (seen.deadline - now) / 2);
    if (child_) {
        if (const auto again = child_->replace_late_guard(now))
            todo.look_again = std::min(todo.look_again, *again);
    }
    obey(watch, todo);
    if (child_) instruct_guard(watch);
}

// What a command leaves behind when it ends in good order is no affair of ours, but worth a word.
void guarded_run::leave_child(const supervisor& watch) {
    const int left = child_->leave();
    if (left == 0 || (watch.why() != why_ended::not_yet && wanted_.rules.policy != on_loss::ignore)) return;
    report_.left_alone(left);
}

void guarded_run::obey(supervisor& watch, const run_action& todo) {
    if (todo.signal != 0) {
        child_->signal(todo.signal);
        if (todo.signal == SIGTERM) child_->signal(SIGCONT);  // a stopped process does not see TERM
    }
    if (todo.warn) {
        lost_.ring();
        report_.end_of_command(watch.why(), end_);
    }
    if (todo.forward != 0) {
        if (todo.forward == SIGCONT && wants_terminal_ && terminal_.is_ours())
            terminal_.give_to(child_->pid());
        child_->signal(todo.forward);
        // As a shell does it: a stopped process does not see TERM.
        const bool ends = todo.forward == SIGTERM || todo.forward == SIGHUP || todo.forward == SIGINT ||
                          todo.forward == SIGQUIT;
        if (ends && stopped_by_ != 0) child_->signal(SIGCONT);
        if (ends || todo.forward == SIGCONT) stopped_by_ = 0;
        journal_.tell("signal", {{"signal", signal_text(todo.forward)}});
    }
    if (todo.replace_guard) child_->replace_guard();
    stop_now_ = stop_now_ || todo.stop_with_it;
    alarm_.set(todo.look_again);
    over_ = todo.give_back;
}

void guarded_run::stop_with_the_command() {
    const bool had_it = terminal_.belongs_to(child_->pid());
    terminal_.take_back_from(child_->pid());
    // The CONT that wakes us stays among the signals; the leases are looked at before it is handed on.
    if (signals_.stop_this_job() || stopped_by_ == 0) return;
    // No shell looks after this job, so nobody would ever continue it: the key does nothing, as without us.
    if (had_it) return continue_in_foreground();
    // It would ask again at once for a terminal that is not ours to give.
    if (stopped_by_ == SIGTTIN || stopped_by_ == SIGTTOU) return tell_that_it_is_stopped();
    child_->signal(SIGCONT);
    stopped_by_ = 0;
}

void guarded_run::continue_in_foreground() {
    terminal_.give_to(child_->pid());
    child_->signal(SIGCONT);
    stopped_by_ = 0;
}

// --- after -------------------------------------------------------------------------------------

void guarded_run::give_back(supervisor& watch) {
    auto& locks = locks_->locks();
    for (auto it = locks.rbegin(); it != locks.rend(); ++it) {
        auto& one = *it;
        const auto result = one.hold.release();
        std::string_view said;
        switch (result.outcome) {
            case release_outcome::released: said = "released"; break;
            case release_outcome::already_lost:
                said = "already_lost";
                if (watch.lost_later()) {
                    journal_.say(
                        fmt::format("the lock {} was lost after the command had ended", in_quotes(one.name)));
                } else if (watch.why() == why_ended::not_yet) {
                    journal_.say(
                        fmt::format("the lock {} was lost while the command ran", in_quotes(one.name)));
                }
                break;
            case release_outcome::unknown_until: {
                said = "unknown";
                const auto left = std::chrono::ceil<milliseconds>(result.until - boot_clock::now());
                journal_.say(fmt::format(
                    "the store did not answer when {} was given back; it is free in {} at the latest",
                    in_quotes(one.name), rough(std::max(left, milliseconds{0}))));
                break;
            }
        }
        watch.gave_back(result.outcome == release_outcome::already_lost);
        journal_.tell("released", {{"name", json_text(one.name)}, {"outcome", said}});
    }
}

void guarded_run::wait(std::initializer_list<int> readable) {
    std::vector<pollfd> all;
    for (const int fd : readable) all.push_back({fd, POLLIN, 0});
    for (auto* sink : {&journal_.people(), journal_.programs()}) {
        if (sink != nullptr && sink->wants_to_write()) all.push_back({sink->fd(), POLLOUT, 0});
    }
    ::poll(all.data(), all.size(), -1);
    journal_.people().flush();
    if (journal_.programs() != nullptr) journal_.programs()->flush();
}

}  // namespace

int run_under_lock(const config& settings, const run_request& wanted) {
    return guarded_run{settings, wanted}.run();
}

}  // namespace holdfast::cli
