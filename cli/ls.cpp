// holdfast ls: which locks are held.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/output.hpp"

#include "base/text.hpp"

#include <holdfast/admin.hpp>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::cli {

namespace {

constexpr auto ls_examples =
    R"(On a terminal a table, otherwise the same columns without a head, parted by tabs.

Examples:
  holdfast ls
  holdfast ls 'stock:*'
  holdfast ls --json | jq -r '.[] | select(.ours | not) | .name')";

std::string table_of(const std::vector<lock_info>& locks, bool for_terminal) {
    rows table{{"NAME", "KIND", "HOLDER", "TTL"}};
    for (const auto& lock : locks) {
        table.push_back({lock.name.printable(), base::printable(lock.layout), holder_text(lock),
                         lock.ttl ? rough(*lock.ttl) : std::string{"none"}});
    }
    return for_terminal ? aligned(table) : tab_separated(table);
}

int list_locks(const std::string& glob, bool json, const context& shared) {
    client on{shared.settings()};
    auto locks = list(on, glob);
    std::ranges::sort(locks, {}, [](const lock_info& lock) -> const std::string& { return lock.name.str(); });
    if (json) {
        auto all = nlohmann::ordered_json::array();
        for (const auto& lock : locks) all.push_back(to_json(lock));
        fmt::print("{}\n", one_line(all));
    } else if (!locks.empty()) {
        fmt::print("{}", table_of(locks, ::isatty(STDOUT_FILENO) == 1));
    } else if (::isatty(STDOUT_FILENO) == 1) {
        fmt::print("no lock is held\n");
    }
    return exit_code::ok;
}

}  // namespace

void add_ls(CLI::App& app, context& shared) {
    auto* const ls = app.add_subcommand("ls", "List the locks that are held");
    auto glob = std::make_shared<std::string>("*");
    auto json = std::make_shared<bool>(false);
    ls->fallthrough();
    ls->footer(ls_examples);
    ls->add_option("GLOB", *glob, "Only names that match; '*' stands for any characters, '?' for one");
    ls->add_flag("--json", *json, "An array of JSON objects");
    ls->callback(
        [=, &shared] { shared.chosen = [=, &shared] { return list_locks(plain(*glob), *json, shared); }; });
}

}  // namespace holdfast::cli
