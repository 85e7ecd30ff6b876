// How `holdfast run` waits for its locks: until it has all of them, one is lost, or a signal ends the wait.
#pragma once

#include "cli/acquisition.hpp"
#include "cli/event_inbox.hpp"
#include "cli/journal.hpp"
#include "cli/run_report.hpp"
#include "cli/signals.hpp"
#include "cli/under_lock.hpp"
#include "cli/waking.hpp"

#include <holdfast/client.hpp>

#include <atomic>
#include <optional>
#include <string>
#include <thread>

namespace holdfast::cli {

// Refers to all of its arguments. Its destructor waits for the store's answer to the question who holds the
// lock, which may come when the lock is long taken.
//
// Thread safety: none. Only the main thread uses it, and once.
class lock_wait {
  public:
    lock_wait(client& on, const run_request& wanted, signal_inbox& signals, event_inbox& events, journal& to,
              run_report& report)
        : client_(on), wanted_(wanted), signals_(signals), events_(events), journal_(to), report_(report) {}

    // Blocks. Empty: `into` has all of the locks; otherwise the exit code. Throws holdfast::error for what
    // the store did not do.
    std::optional<int> take_all(std::optional<acquisition>& into);

  private:
    void tell_whom_we_wait_for(const std::string& name);
    void write_whom_we_wait_for(const std::string& name);

    client& client_;
    const run_request& wanted_;
    signal_inbox& signals_;
    event_inbox& events_;
    journal& journal_;
    run_report& report_;
    alarm_clock alarm_;
    std::atomic<bool> waiting_{true};
    std::jthread whom_;  // last: it uses all of the above
};

}  // namespace holdfast::cli
