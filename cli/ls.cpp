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
A fair mutex for which nobody waits looks like a recursive one: their keys are the same.

Examples:
  holdfast ls
  holdfast ls 'stock:*'
  holdfast ls --kind shared_mutex
  holdfast ls --json | jq -r '.[] | select(.ours | not) | .name')";

std::string table_of(const std::vector<lock_info>& locks, bool for_terminal) {
    rows table{{"NAME", "KIND", "HOLDER", "TTL"}};
    for (const auto& lock : locks) {
        table.push_back({lock.name.printable(), base::printable(lock.layout), holder_text(lock),
                         lock.ttl ? rough(*lock.ttl) : std::string{"none"}});
    }
    return for_terminal ? aligned(table) : tab_separated(table);
}

struct ls_options {
    std::string glob = "*";
    std::string kind;
    bool json = false;
};

int list_locks(const ls_options& given, const context& shared) {
    client on{shared.settings()};
    auto locks = list(on, plain(given.glob));
    if (!given.kind.empty())
        std::erase_if(locks, [&](const lock_info& lock) { return lock.layout != given.kind; });
    std::ranges::sort(locks, {}, [](const lock_info& lock) -> const std::string& { return lock.name.str(); });
    if (given.json) {
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
    auto given = std::make_shared<ls_options>();
    ls->fallthrough();
    ls->footer(ls_examples);
    ls->add_option("GLOB", given->glob, "Only names that match; '*' stands for any characters, '?' for one");
    ls->add_option("--kind", given->kind, "Only this kind, as it stands in the column KIND")
        ->check(CLI::IsMember({"mutex", "recursive_mutex", "fair_mutex", "fenced_mutex", "shared_mutex",
                               "counting_semaphore", "permit_semaphore"}))
        ->type_name("KIND");
    ls->add_flag("--json", given->json, "An array of JSON objects");
    ls->callback([=, &shared] { shared.chosen = [=, &shared] { return list_locks(*given, shared); }; });
}

}  // namespace holdfast::cli
