// What all commands share, and how each joins the program. A file cli/<name>.cpp has one add_<name>, which
// describes the command to CLI11 and sets context::chosen when the command line names this command.
#pragma once

#include "cli/output/error_output.hpp"

#include <holdfast/config.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace holdfast::cli {

struct context {
    // Options before the command.
    std::vector<std::string> urls;
    std::string config_file;

    // The words after the first "--" of `holdfast run`, unchanged.
    std::vector<std::string> words_after_dashes;

    // Does the work and returns the exit code. Called after the whole command line has been parsed.
    std::function<int()> chosen;

    // The configuration from --url, HOLDFAST_URL and --config, without its policies: they are for a command
    // that takes locks, as they make the client open a second store. Throws usage_error.
    [[nodiscard]] config settings() const;
    [[nodiscard]] config settings_with_policies() const;
    // For a command that takes several --url: one configuration for each.
    [[nodiscard]] std::vector<config> settings_each() const;
    [[nodiscard]] store_choice store() const;
};

// Ends the program with exit_code::usage. The message is a sentence without a full stop.
class usage_error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

void add_run(CLI::App& app, context& shared);
void add_ls(CLI::App& app, context& shared);
void add_inspect(CLI::App& app, context& shared);
void add_evict(CLI::App& app, context& shared);
void add_doctor(CLI::App& app, context& shared);
void add_latch(CLI::App& app, context& shared);
void add_switch(CLI::App& app, context& shared);
void add_demo(CLI::App& app, context& shared);
void add_demo_outage(CLI::App& app, context& shared);  // after add_demo
void add_lab(CLI::App& app, context& shared);
// The rungs of the lab, separated by spaces. The completion needs them; the lab's help only says how to list
// them.
[[nodiscard]] std::string rung_names();

}  // namespace holdfast::cli
