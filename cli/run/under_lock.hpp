// Runs a command under locks: acquires them, starts the command, watches over it, releases the locks.
#pragma once

#include "cli/process/signals.hpp"
#include "cli/process/unique_fd.hpp"
#include "cli/run/acquire_locks.hpp"
#include "cli/run/metrics_file.hpp"
#include "cli/run/supervisor.hpp"

#include <holdfast/config.hpp>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

struct run_request {
    std::vector<std::string> command;
    std::vector<std::string> names;  // as the user wrote them, each once
    lock_request locks;
    supervision rules;
    int conflict_code = 1;
    std::optional<int> weak_code;  // exit code if the lock would be too weak
    std::optional<int> json_fd;
    std::optional<metrics_file> metrics;
    bool verbose = false;
};

// Returns the exit code of `holdfast run`. Call it on the main thread, while there is no other thread. Throws
// holdfast::error if the store fails.
[[nodiscard]] int run_under_lock(const config& settings, const run_request& wanted);

}  // namespace holdfast::cli
