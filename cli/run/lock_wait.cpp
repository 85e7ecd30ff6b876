#include "cli/run/lock_wait.hpp"

#include "cli/output/exit_codes.hpp"
#include "cli/output/format.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/error.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <system_error>

namespace holdfast::cli {

std::optional<int> lock_wait::acquire_all(std::optional<acquire_locks>& into) {
    auto& locks = into.emplace(client_, wanted_.locks);
    while (true) {
        log_.wait({signals_.fd(), locks.fd(), alarm_.fd(), events_.fd()});
        report_.events(events_.take());
        read_signals(locks);
        const auto now = locks.progress();
        report_wait(now);
        if (now.what == acquire_locks::outcome::pending) continue;
        waiting_ = false;
        alarm_.set(boot_clock::time_point::max());
        return end_with(now.what, locks);
    }
}

void lock_wait::read_signals(acquire_locks& locks) {
    while (const auto signal = signals_.next()) {
        switch (*signal) {
            case SIGINT:
            case SIGTERM:
            case SIGHUP:
            case SIGQUIT:
                // A second signal ends us at once: a lock that may have been granted expires by itself.
                // But timeout(1) sends its signal twice, to the process and to its group.
                if (cancelled_by_ != 0 && boot_clock::now() < second_counts_from_) break;
                if (cancelled_by_ != 0) ::_exit(exit_code::by_signal(*signal));
                cancelled_by_ = *signal;
                second_counts_from_ = boot_clock::now() + std::chrono::milliseconds{200};
                log_.write_event("signal", {{"signal", signal_text(*signal)}});
                locks.cancel();
                break;
            case SIGTSTP: signals_.stop_this_process(); break;
            default: break;  // for a command that does not run yet
        }
    }
}

void lock_wait::report_wait(const acquire_locks::state& now) {
    if (!now.held_up_by.empty() && now.held_up_by != reported_reason_) {
        reported_reason_ = now.held_up_by;
        log_.write_event("waiting", {{"why", json_text(reported_reason_)}});
        log_.say("waiting: " + reported_reason_);
    }
    if (!now.waiting_for.empty() && now.waiting_for != reported_name_) {
        reported_name_ = now.waiting_for;
        log_.write_event("waiting", {{"name", json_text(reported_name_)}});
        if (log_.verbose() || has_permits(wanted_.locks.kind))
            alarm_.set(boot_clock::now() + std::chrono::seconds{1});
    }
    pollfd due{alarm_.fd(), POLLIN, 0};
    if (::poll(&due, 1, 0) > 0) {
        alarm_.clear();
        if (!now.waiting_for.empty()) start_holder_report(now.waiting_for);
    }
}

std::optional<int> lock_wait::end_with(acquire_locks::outcome how, acquire_locks& locks) {
    using outcome = acquire_locks::outcome;
    if (cancelled_by_ != 0) {
        if (how == outcome::acquired) locks.release_all();
        return exit_code::by_signal(cancelled_by_);
    }
    switch (how) {
        case outcome::conflict:
            log_.write_event("conflict", {{"name", json_text(reported_name_)}});
            // Waiting longer, or trying again later, would not help.
            if (const auto& unset = locks.without_permits(); !unset.empty())
                log_.say(fmt::format("did not acquire {}: {}", in_quotes(unset), how_to_set_permits));
            else
                log_.mention(fmt::format("did not acquire {}: another client holds {}",
                                         in_quotes(wanted_.names),
                                         wanted_.names.size() == 1 ? "it" : "one of them"));
            return wanted_.conflict_code;
        case outcome::lost: report_.lost_before_start(locks.lost_lock()); return exit_code::lost;
        case outcome::failed: return fail_with(locks.failure());
        case outcome::acquired: report_.acquired(locks.locks(), client_.strength()); return std::nullopt;
        case outcome::cancelled:
        case outcome::pending: break;  // only a signal cancels
    }
    return exit_code::internal;
}

// Reported as the error of any command, but for the exit code.
int lock_wait::fail_with(const std::exception_ptr& why) {
    try {
        std::rethrow_exception(why);
    } catch (const error& e) {
        if (e.code() != errc::too_weak || !wanted_.weak_code) throw;
        log_.say(e.what());
        return *wanted_.weak_code;
    }
}

// The question who holds the lock takes round trips, during which the main thread must read signals. The
// report is a courtesy: without memory or a thread for it, it names no holder.
void lock_wait::start_holder_report(const std::string& name) {
    try {
        reporter_ = std::jthread{[this, name] {
            try {
                report_holder(name);
            } catch (const std::exception&) {
                // The report is a courtesy.
            }
        }};
    } catch (const std::system_error&) {
        log_.mention(fmt::format("waiting for {}", in_quotes(name)));
    }
}

void lock_wait::report_holder(const std::string& name) {
    std::string holder;
    try {
        const auto about = admin::inspect(client_, name);
        // A wait for permits that do not exist may never end, so it is reported without --verbose, too.
        const bool unset = lacks_permits(about, wanted_.locks);
        if (!unset && !log_.verbose()) return;
        if (unset) holder = fmt::format(": {}", how_to_set_permits);
        if (!about.holders.empty()) {
            holder = ", held by " + process_text(about.holders.front().host, about.holders.front().pid);
        }
    } catch (const std::exception&) {
        // The holder is not known.
    }
    if (!waiting_) return;
    // The run_log belongs to the main thread. A reader that does not read must not delay our end.
    line_sink{STDERR_FILENO}.put(fmt::format("holdfast: waiting for {}{}", in_quotes(name), holder));
}

}  // namespace holdfast::cli
