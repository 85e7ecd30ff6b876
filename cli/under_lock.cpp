#include "cli/under_lock.hpp"

#include "base/text.hpp"
#include "cli/child.hpp"
#include "cli/event_inbox.hpp"
#include "cli/exit_codes.hpp"
#include "cli/journal.hpp"
#include "cli/output.hpp"
#include "cli/terminal.hpp"
#include "cli/waking.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/client.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <stop_token>
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

std::string in_quotes(const std::string& name) { return fmt::format("\"{}\"", base::printable(name)); }

std::string in_quotes(const std::vector<std::string>& names) {
    std::string all;
    for (const auto& name : names) all.append(all.empty() ? "" : " and ").append(in_quotes(name));
    return all;
}

class guarded_run {
  public:
    guarded_run(const config& settings, const run_request& wanted)
        : wanted_(wanted), journal_(wanted.json_fd, wanted.verbose), client_(settings) {}

    int run() {
        if (const auto code = wait_for_locks()) return *code;
        return run_the_command();
    }

  private:
    // Empty: all are taken.
    std::optional<int> wait_for_locks();
    void tell_whom_we_wait_for(const std::string& name);
    void tell_taken();

    int run_the_command();
    void start(supervisor& watch);
    void watch_over(supervisor& watch);
    void hear_signals(supervisor& watch);
    void hear_child(supervisor& watch);
    void feed(supervisor& watch, const run_event& what);
    void obey(supervisor& watch, const run_action& todo);
    void tell_of_end(const supervisor& watch);
    void stop_with_the_command();
    void give_back(supervisor& watch);
    void tell_events();

    [[nodiscard]] lease_view look_at_leases() const;
    [[nodiscard]] launch how_to_launch() const;
    [[nodiscard]] std::string joined(const std::function<std::string(const held_lock&)>& text) const;
    // Blocks until one of the descriptors is readable, and flushes what readers were too slow for.
    void wait(std::initializer_list<int> readable);

    const run_request& wanted_;
    lost_pipe lost_;  // first: it gets a number of one digit, which is all that some shells can redirect from
    signal_inbox signals_;  // before the client and its threads
    terminal terminal_;
    journal journal_;
    bell lost_bell_;
    alarm_clock alarm_;
    client client_;
    event_inbox events_{client_};
    std::atomic<bool> waiting_{true};
    std::jthread whom_;
    std::optional<acquisition> locks_;
    std::optional<child> child_;
    bool wants_terminal_ = false;
    bool was_down_ = false;
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
        tell_events();
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
            case acquisition::outcome::taken: tell_taken(); return std::nullopt;
            case acquisition::outcome::cancelled:
            case acquisition::outcome::pending: return exit_code::internal;  // nobody else cancels
        }
    }
}

// Asking takes round trips, during which signals must be heard.
void guarded_run::tell_whom_we_wait_for(const std::string& name) {
    whom_ = std::jthread{[this, name] {
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
        const auto line = fmt::format("holdfast: waiting for {}{}\n", in_quotes(name), holder);
        [[maybe_unused]] const auto n = ::write(STDERR_FILENO, line.data(), line.size());
    }};
}

void guarded_run::tell_taken() {
    for (const auto& one : locks_->locks()) {
        nlohmann::ordered_json fields{{"name", json_text(one.name)},
                                      {"owner", json_text(one.hold.owner().str())}};
        if (one.hold.fence() != fence::none) fields["fence"] = to_number(one.hold.fence());
        fields["waited_ms"] = one.waited.count();
        journal_.tell("acquired", fields);
        journal_.mention(fmt::format("got {} after {}", in_quotes(one.name), rough(one.waited)));
    }
}

// --- during ------------------------------------------------------------------------------------

int guarded_run::run_the_command() {
    supervisor watch{wanted_.rules, boot_clock::now()};
    {
        std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> listeners;
        for (const auto& one : locks_->locks()) {
            listeners.push_back(std::make_unique<std::stop_callback<std::function<void()>>>(
                one.hold.lost(), [this] { lost_bell_.ring(); }));
        }
        start(watch);
        while (!over_) watch_over(watch);
    }
    if (child_) terminal_.take_back_from(child_->pid());
    give_back(watch);
    return watch.exit_code();
}

void guarded_run::start(supervisor& watch) {
    if (!look_at_leases().valid) {
        journal_.say(
            fmt::format("the lock {} was lost before the command was started", in_quotes(wanted_.names)));
        return feed(watch, not_started{exit_code::lost});
    }
    wants_terminal_ = terminal_.to_be_given_at_start();
    auto started = child::start(how_to_launch(), signals_);
    if (const auto* failed = std::get_if<start_failure>(&started)) {
        if (wants_terminal_) terminal_.give_to(::getpgrp());
        const bool missing = failed->error == ENOENT || failed->error == ENOTDIR;
        journal_.say(fmt::format("cannot run {}: {}", in_quotes(wanted_.command.front()),
                                 std::generic_category().message(failed->error)));
        return feed(watch, not_started{missing ? exit_code::not_found : exit_code::cannot_execute});
    }
    child_ = std::get<child>(started);
    journal_.tell("started", {{"pid", child_->pid()}});
    feed(watch, looked{});
}

launch guarded_run::how_to_launch() const {
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
    return how;
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
    wait({signals_.fd(), alarm_.fd(), lost_bell_.fd(), events_.fd()});
    alarm_.quiet();
    lost_bell_.quiet();
    // We may have been stopped for longer than the lease: look at it before anything else.
    feed(watch, looked{});
    tell_events();
    if (!over_) hear_signals(watch);
}

// Why a lock was lost is always told: what we say ourselves is only that it was. The rest is for --verbose.
void guarded_run::tell_events() {
    for (const auto& e : events_.take()) {
        switch (e.kind) {
            case event_kind::lost: journal_.say(fmt::format("\"{}\": {}", e.lock, e.detail)); break;
            case event_kind::store_down: was_down_ = true; [[fallthrough]];
            case event_kind::jeopardy:
            case event_kind::renewed:
            case event_kind::store_restarted:
            case event_kind::failed_over:
            case event_kind::eviction_risk:
            case event_kind::no_channel_right:
            case event_kind::quorum_weak:
            case event_kind::quorum_whole:
            case event_kind::quorum_double:
            case event_kind::quorum_even:
                journal_.mention(e.lock.empty() ? e.detail : fmt::format("\"{}\": {}", e.lock, e.detail));
                break;
            case event_kind::store_up:
                if (std::exchange(was_down_, false)) journal_.mention("the store answers again");
                break;
            case event_kind::acquired:
            case event_kind::released:
            case event_kind::release_failed:
            case event_kind::holder_gone:
            case event_kind::slow_callback: break;  // told in our own words, or not about us
        }
    }
}

void guarded_run::hear_signals(supervisor& watch) {
    while (const auto signal = signals_.next()) {
        if (*signal == SIGCHLD) {
            hear_child(watch);
        } else {
            feed(watch, told{*signal});
        }
        if (over_) return;
    }
}

void guarded_run::hear_child(supervisor& watch) {
    if (watch.phase() == run_phase::resting) return;
    while (const auto change = child_->next_change()) {
        if (const auto* end = std::get_if<child_ended>(&*change)) {
            feed(watch, ended{end->code()});
            journal_.tell("exited", end->by_signal != 0
                                        ? nlohmann::ordered_json{{"signal", signal_text(end->by_signal)}}
                                        : nlohmann::ordered_json{{"code", end->status}});
            return;
        }
        const auto by = std::get<child_stopped>(*change).signal;
        if ((by == SIGTTIN || by == SIGTTOU) && terminal_.is_ours()) {
            // It started in the background and wants the terminal, which is ours to give.
            wants_terminal_ = true;
            terminal_.give_to(child_->pid());
            child_->signal(SIGCONT);
            continue;
        }
        wants_terminal_ = wants_terminal_ || by == SIGTTIN || by == SIGTTOU;
        feed(watch, stopped{});
    }
}

void guarded_run::feed(supervisor& watch, const run_event& what) {
    obey(watch, watch.resume(what, look_at_leases(), boot_clock::now()));
    if (std::holds_alternative<ended>(what)) child_->reap();
}

void guarded_run::obey(supervisor& watch, const run_action& todo) {
    if (todo.signal != 0) {
        child_->signal(todo.signal);
        if (todo.signal == SIGTERM) child_->signal(SIGCONT);  // a stopped process does not see TERM
    }
    if (todo.warn) {
        lost_.ring();
        tell_of_end(watch);
    }
    if (todo.forward != 0) {
        if (todo.forward == SIGCONT && wants_terminal_ && terminal_.is_ours())
            terminal_.give_to(child_->pid());
        child_->signal(todo.forward);
        journal_.tell("signal", {{"signal", signal_text(todo.forward)}});
    }
    if (todo.stop_with_it) stop_with_the_command();
    alarm_.set(todo.look_again);
    over_ = todo.give_back;
}

void guarded_run::tell_of_end(const supervisor& watch) {
    const auto names = in_quotes(wanted_.names);
    const std::string done = wanted_.rules.policy == on_loss::ignore
                                 ? "the command goes on without it (--on-loss ignore)"
                                 : "the command is being ended";
    switch (watch.why()) {
        case why_ended::not_yet:
            journal_.tell("lost", {{"why", "expiring"}});
            journal_.say(fmt::format("the lock {} cannot be renewed and is about to be lost", names));
            break;
        case why_ended::lost:
            journal_.tell("lost", {{"why", "lost"}});
            journal_.say(fmt::format("the lock {} was lost; {}", names, done));
            break;
        case why_ended::expiring:
            journal_.tell("lost", {{"why", "expiring"}});
            journal_.say(
                fmt::format("the lock {} cannot be renewed and is about to be lost; {}", names, done));
            break;
        case why_ended::max_hold:
            journal_.tell("lost", {{"why", "max_hold"}});
            journal_.say(fmt::format("the time of --max-hold for {} is over; {}", names, done));
            break;
    }
}

void guarded_run::stop_with_the_command() {
    if (child_) terminal_.take_back_from(child_->pid());
    // The CONT that wakes us stays among the signals; the leases are looked at before it is handed on.
    signals_.stop_this_process();
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
                if (watch.why() == why_ended::not_yet) {
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
