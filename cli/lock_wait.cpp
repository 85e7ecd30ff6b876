#include "cli/lock_wait.hpp"

#include "cli/exit_codes.hpp"
#include "cli/output.hpp"

#include <holdfast/admin.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <system_error>

namespace holdfast::cli {

std::optional<int> lock_wait::take_all(std::optional<acquisition>& into) {
    auto& locks = into.emplace(client_, wanted_.locks);
    std::string told_of;
    std::string told_why;
    int cancelled_by = 0;
    boot_clock::time_point impatient_at;
    while (true) {
        journal_.wait({signals_.fd(), locks.fd(), alarm_.fd(), events_.fd()});
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
                    journal_.write_event("signal", {{"signal", signal_text(*signal)}});
                    locks.cancel();
                    break;
                case SIGTSTP: signals_.stop_this_process(); break;
                default: break;  // for a command that does not run yet
            }
        }
        const auto now = locks.progress();
        if (!now.held_up_by.empty() && now.held_up_by != told_why) {
            told_why = now.held_up_by;
            journal_.write_event("waiting", {{"why", json_text(told_why)}});
            journal_.say("waiting: " + told_why);
        }
        if (!now.waiting_for.empty() && now.waiting_for != told_of) {
            told_of = now.waiting_for;
            journal_.write_event("waiting", {{"name", json_text(told_of)}});
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
            if (now.what == acquisition::outcome::taken) locks.give_back();
            return exit_code::by_signal(cancelled_by);
        }
        switch (now.what) {
            case acquisition::outcome::conflict:
                journal_.write_event("conflict", {{"name", json_text(told_of)}});
                // To wait for longer, or to try again later, would not help.
                if (const auto& unset = locks.without_permits(); !unset.empty())
                    journal_.say(fmt::format("did not acquire {}: {}", in_quotes(unset), how_to_set_permits));
                else
                    journal_.mention(fmt::format("did not acquire {}: another client holds {}",
                                                 in_quotes(wanted_.names),
                                                 wanted_.names.size() == 1 ? "it" : "one of them"));
                return wanted_.conflict_code;
            case acquisition::outcome::lost:
                report_.lost_before_start(locks.lost_lock());
                return exit_code::lost;
            case acquisition::outcome::failed: std::rethrow_exception(locks.failure());
            case acquisition::outcome::taken: report_.taken(locks.locks()); return std::nullopt;
            case acquisition::outcome::cancelled:
            case acquisition::outcome::pending: return exit_code::internal;  // nobody else cancels
        }
    }
}

// Asking takes round trips, during which signals must be heard. It is a courtesy: where there is no memory or
// no thread to be had, nothing is said.
void lock_wait::tell_whom_we_wait_for(const std::string& name) {
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

void lock_wait::write_whom_we_wait_for(const std::string& name) {
    std::string holder;
    try {
        const auto about = inspect(client_, name);
        // This wait may well be for ever, and so is told to everybody.
        const bool unset = lacks_permits(about, wanted_.locks);
        if (!unset && !journal_.verbose()) return;
        if (unset) holder = fmt::format(": {}", how_to_set_permits);
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

}  // namespace holdfast::cli
