// Reports what happens to the locks and the command of `holdfast run`, in sentences and in JSON. Decides
// nothing.
#pragma once

#include "cli/run/acquire_locks.hpp"
#include "cli/run/child.hpp"
#include "cli/run/run_log.hpp"
#include "cli/run/supervisor.hpp"
#include "cli/run/under_lock.hpp"

#include <holdfast/event.hpp>
#include <holdfast/lease.hpp>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::cli {

[[nodiscard]] std::string in_quotes(const std::string& name);
// `"a", "b" and "c"`.
[[nodiscard]] std::string in_quotes(const std::vector<std::string>& names);

// Thread safety: none. Keeps references to both arguments.
class run_report {
  public:
    run_report(run_log& to, const run_request& wanted) : log_(to), wanted_(wanted) {}

    // `of_store`: what a lock of the store stands for.
    void acquired(const std::deque<held_lock>& locks, strength of_store);
    void events(const std::vector<event>& seen);
    void lost_before_start(const std::string& name);
    // Why the command is being ended, or was, because of the locks `of`. `end` says how it ended, if it has.
    void end_of_command(why_ended why, const std::vector<std::string>& of,
                        const std::optional<child_ended>& end);
    // For release_outcome::unknown_until.
    void release_unknown(const std::string& name, const release_result& how);
    void waits_for(const cannot_end& those);
    void may_run_on(const nothing_left& how);
    void left_running(int processes);

  private:
    [[nodiscard]] std::string fate_of_command(why_ended why, const std::optional<child_ended>& end) const;

    void say_held_back(const std::vector<std::string>& of);

    run_log& log_;
    const run_request& wanted_;
    bool was_down_ = false;
    std::set<std::string> to_be_mended_;  // locks that were reported as not renewed, and are not renewed yet
    std::map<std::string, std::string> held_back_;  // by lock: why it is not renewed; not reported yet
};

}  // namespace holdfast::cli
