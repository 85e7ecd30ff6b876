// A run: rounds of faults, then calm, then judgement.
#pragma once

#include "chaos/runner/plan.hpp"
#include "chaos/runner/topology.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace holdfast::chaos {

struct campaign_settings {
    std::string topology;
    std::string subject = "holdfast";
    std::uint64_t seed = 1;
    std::chrono::seconds length{60};
    unsigned clients = 4;
    unsigned threads = 4;
    milliseconds lease{0};  // 0: as the topology needs it; the round likewise
    milliseconds round{0};
    milliseconds peace{1'500};
    // left_out: there must be a violation, and the run shows that it is found.
    precautions care = precautions::taken;
    // Only the faults of links, servers and locks whose description contains this.
    std::string only;
    // Only locks whose name contains this.
    std::string locks;
    // The run ends after so many whole changes of the mode of a joint store, and counts them. 0: as planned.
    std::size_t mode_changes = 0;
    // The folder for a history with a violation.
    std::filesystem::path keep = ".";
    // The first violation ends the run, and there must be one.
    bool expect_violation = false;
};

// Throws std::runtime_error if no history can be written there. Makes the folder.
void check_keep(const std::filesystem::path& folder);
// Returns the exit code.
int run_campaign(const campaign_settings& how);
// Runs all topologies in turn; each has its share of the time.
int run_all(campaign_settings how);
// Judges a history that an earlier run has kept.
int judge_file(const std::filesystem::path& file);
void print_plan(const campaign_settings& how, std::uint64_t rounds);

}  // namespace holdfast::chaos
