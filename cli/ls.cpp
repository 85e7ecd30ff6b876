// holdfast ls: which locks are held.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/format.hpp"

#include "base/text.hpp"

#include <holdfast/admin.hpp>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {

namespace {

constexpr auto ls_examples =
    R"(Prints a table on a terminal, otherwise the same columns without a head, separated by tabs.
A fair mutex without waiters looks like a recursive one: their keys are the same.
A free fair mutex is listed if dead waiters in its queue keep Redisson's clients out.
Left out by default: strings of other clients (redis-py, redsync, python-redis-lock and others), which look like any other
string, latches, semaphores without a held permit, and data. An exact NAME is listed whatever it holds. --foreign adds
strings that expire and look like the owner token of a lock; they may be something else, such as a session's id.

Examples:
  holdfast ls
  holdfast ls 'stock:*'
  holdfast ls --kind shared_mutex
  holdfast ls --foreign
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
    bool foreign = false;
    bool json = false;
};

// An exact name is shown whatever its key holds, a pattern only matches keys that look like locks.
std::vector<lock_info> locks_for(client& on, const std::string& glob, bool foreign) {
    if (glob.empty() || glob.find_first_of("*?") != std::string::npos)
        return admin::list(on, glob, foreign ? listed::foreign_texts : listed::locks);
    auto one = admin::inspect(on, lock_name{glob});
    if (one.layout == "free" && one.dead_waiters == 0) return {};
    return {std::move(one)};
}

int list_locks(const ls_options& given, const context& shared) {
    client on{shared.settings()};
    auto locks = locks_for(on, plain(given.glob), given.foreign);
    if (!given.kind.empty())
        std::erase_if(locks, [&](const lock_info& lock) {
            const bool line_of_fair = lock.dead_waiters > 0 && given.kind == type_name(kind::fair);
            return lock.layout != given.kind && !line_of_fair;
        });
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
    ls->add_option("GLOB", given->glob, "A name, or a pattern: '*' stands for any characters, '?' for one");
    ls->add_option("--kind", given->kind, "List only this kind, as the column KIND shows it")
        ->check(CLI::IsMember(names_of_held_kinds(type_name)))
        ->type_name("KIND");
    ls->add_flag("--foreign", given->foreign, "Also list strings of other clients that look like locks");
    ls->add_flag("--json", given->json, "Print an array of JSON objects");
    ls->callback([=, &shared] { shared.chosen = [=, &shared] { return list_locks(*given, shared); }; });
}

}  // namespace holdfast::cli
