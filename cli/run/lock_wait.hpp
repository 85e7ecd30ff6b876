// The wait of `holdfast run` for its locks. It ends with all locks, with the loss of one, or by a signal.
#pragma once

#include "cli/process/signals.hpp"
#include "cli/process/wake_fds.hpp"
#include "cli/run/acquire_locks.hpp"
#include "cli/run/event_inbox.hpp"
#include "cli/run/run_log.hpp"
#include "cli/run/run_report.hpp"
#include "cli/run/under_lock.hpp"

#include <holdfast/client.hpp>

#include <atomic>
#include <optional>
#include <string>
#include <thread>

namespace holdfast::cli {

// Keeps references to all arguments. The destructor waits for the store's answer to the question who holds
// the lock, which may come long after the lock was acquired.
//
// Thread safety: none. Use it on the main thread only, and once.
class lock_wait {
  public:
    lock_wait(client& on, const run_request& wanted, signal_inbox& signals, event_inbox& events, run_log& to,
              run_report& report)
        : client_(on), wanted_(wanted), signals_(signals), events_(events), log_(to), report_(report) {}

    // Blocks. Returns the exit code, or empty if `into` holds all of the locks. Throws holdfast::error if the
    // store fails.
    std::optional<int> acquire_all(std::optional<acquire_locks>& into);

  private:
    void read_signals(acquire_locks& locks);
    void report_wait(const acquire_locks::state& now);
    // Once it is not pending.
    [[nodiscard]] std::optional<int> end_with(acquire_locks::outcome how, acquire_locks& locks);
    [[nodiscard]] int fail_with(const std::exception_ptr& why);
    void start_holder_report(const std::string& name);
    void report_holder(const std::string& name);

    client& client_;
    const run_request& wanted_;
    signal_inbox& signals_;
    event_inbox& events_;
    run_log& log_;
    run_report& report_;
    wake_timer alarm_;
    std::string reported_name_;
    std::string reported_reason_;
    int cancelled_by_ = 0;  // a signal
    boot_clock::time_point second_counts_from_{};
    std::atomic<bool> waiting_{true};
    std::jthread reporter_;  // last: it uses all of the above
};

}  // namespace holdfast::cli
