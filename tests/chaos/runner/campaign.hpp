// A run: round after round of trouble, then calm, then judgement.
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
    milliseconds lease{0};  // 0: as the topology needs it; so too the round
    milliseconds round{0};
    milliseconds peace{1'500};
    // Left out: there must be a violation, and this shows that it is found.
    precautions care = precautions::taken;
    // Of what is done to links, servers and locks only that whose description has this in it.
    std::string only;
    // Only locks whose name has this in it are used.
    std::string locks;
    // Where a history goes in which something is wrong.
    std::filesystem::path keep = ".";
    // The first violation ends the run, and there must be one.
    bool expect_violation = false;
};

// Throws std::runtime_error if no history can be written there. Makes the folder.
void check_keep(const std::filesystem::path& folder);
// The exit code.
int run_campaign(const campaign_settings& how);
// One topology after the other, all of them; each has its share of the time.
int run_all(campaign_settings how);
// Judges what an earlier run has kept.
int judge_file(const std::filesystem::path& file);
void print_plan(const campaign_settings& how, std::uint64_t rounds);

}  // namespace holdfast::chaos
