// holdfast inspect: who holds a lock and who waits for it.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/format.hpp"

#include <holdfast/admin.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace holdfast::cli {

namespace {

constexpr auto inspect_examples = R"(Exit code 0 whether the lock is held or free.

Examples:
  holdfast inspect stock:42
  holdfast inspect stock:42 --json | jq '.holders[0].pid')";

int inspect_lock(const std::string& name, bool json, const context& shared) {
    const lock_name wanted{name};
    client on{shared.settings()};
    const auto found = admin::inspect(on, wanted);
    if (json) {
        fmt::print("{}\n", one_line(to_json(found)));
    } else {
        fmt::print("{}", described(found, std::chrono::system_clock::now()));
    }
    return exit_code::ok;
}

}  // namespace

void add_inspect(CLI::App& app, context& shared) {
    auto* const command = app.add_subcommand("inspect", "Show who holds a lock and who waits for it");
    auto name = std::make_shared<std::string>();
    auto json = std::make_shared<bool>(false);
    command->fallthrough();
    command->footer(inspect_examples);
    command->add_option("NAME", *name, "The lock")->required();
    command->add_flag("--json", *json, "Print a JSON object");
    command->callback(
        [=, &shared] { shared.chosen = [=, &shared] { return inspect_lock(plain(*name), *json, shared); }; });
}

}  // namespace holdfast::cli
