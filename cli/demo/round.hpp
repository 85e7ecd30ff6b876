// One round: the services start, answer all requests, and the books are added up.
#pragma once

#include "cli/demo/ledger.hpp"
#include "cli/demo/plan.hpp"

#include "cli/signals.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace holdfast::cli::demo {

// All numbers are read from the books after the last service has ended; only the time is ours.
struct round_result {
    protection guard = protection::none;
    totals books;
    std::chrono::duration<double> took{};

    [[nodiscard]] double requests_per_second() const {
        return static_cast<double>(books.answered) / took.count();
    }
};

// Where one round stands.
struct progress {
    protection guard = protection::none;
    std::int64_t answered = 0;
    std::int64_t sold = 0;
    std::chrono::duration<double> since_start{};
};

struct surroundings {
    std::filesystem::path folder;
    std::string url;
    signal_inbox& signals;
    std::function<void(const progress&)> tell;  // a few times per second
};

// Throws stage::interrupted; std::runtime_error if a service fails.
[[nodiscard]] round_result run_round(protection guard, const plan& what, const surroundings& around);

}  // namespace holdfast::cli::demo
