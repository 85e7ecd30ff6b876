// One round: the services start and answer all requests, then the books are added up.
#pragma once

#include "cli/demo/ledger.hpp"
#include "cli/demo/plan.hpp"

#include "cli/process/signals.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace holdfast::cli::demo {

// All numbers but the time are read from the books after the last service has ended.
struct round_result {
    protection guard = protection::none;
    totals books;
    std::chrono::duration<double> took{};

    [[nodiscard]] double requests_per_second() const {
        return static_cast<double>(books.answered) / took.count();
    }
};

// How far a round has come.
struct progress {
    protection guard = protection::none;
    std::int64_t answered = 0;
    std::int64_t sold = 0;
    std::chrono::duration<double> since_start{};
};

struct surroundings {
    std::filesystem::path folder;
    std::string url;     // of the store of round three
    std::string prefix;  // of the names of its locks
    signal_inbox& signals;
    std::function<void(const progress&)> on_progress;  // called a few times per second
};

// Throws interrupted, and std::runtime_error if a service fails.
[[nodiscard]] round_result run_round(protection guard, const plan& what, const surroundings& around);

}  // namespace holdfast::cli::demo
