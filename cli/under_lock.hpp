// Runs a command under locks: waits for them, starts it, watches over it, gives them back.
#pragma once

#include "cli/acquisition.hpp"
#include "cli/signals.hpp"
#include "cli/supervisor.hpp"
#include "cli/unique_fd.hpp"

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
    std::optional<int> json_fd;
    bool verbose = false;
};

// Gives the exit code of `holdfast run`. Call it on the main thread, while there is no other. Throws
// holdfast::error for what the store did not do.
[[nodiscard]] int run_under_lock(const config& settings, const run_request& wanted);

}  // namespace holdfast::cli
