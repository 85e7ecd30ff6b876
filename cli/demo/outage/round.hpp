// One round of `holdfast demo outage`: the services answer their requests, Redis is killed in the middle and
// comes back.
#pragma once

#include "cli/demo/ledger.hpp"
#include "cli/demo/outage/service.hpp"
#include "cli/process/signals.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::cli::demo::outage {

using seconds = std::chrono::duration<double>;

struct mode_seen {
    seconds at;
    std::string what;
};

struct outage_round {
    scheme how = scheme::chain;
    outage_counts counts;
    totals books;
    seconds took{};
    seconds killed_at{};  // since the start
    seconds back_at{};
    std::vector<std::int64_t> served;  // in each `sample`
    std::vector<mode_seen> modes;
    std::int64_t due_in_outage = 0;
    std::int64_t served_in_outage = 0;

    static constexpr std::chrono::milliseconds sample{250};
};

struct outage_progress {
    scheme how = scheme::chain;
    outage_counts counts;
    seconds since_start{};
    bool redis_is_up = true;
};

struct outage_surroundings {
    signal_inbox& signals;
    std::function<void(const outage_progress&)> on_progress;  // some times per second
};

// Throws interrupted, no_server, and std::runtime_error if a service fails.
[[nodiscard]] outage_round run_outage_round(scheme how, const outage_plan& what,
                                            const outage_surroundings& around);

}  // namespace holdfast::cli::demo::outage
