// holdfast evict: takes a lock away from its holder.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/output.hpp"

#include <holdfast/admin.hpp>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

namespace holdfast::cli {

namespace {

constexpr auto evict_examples =
    R"(The holder is told where the store can, at the latest when it renews: until then two may believe to hold the lock.
A command under `holdfast run` is ended. The next waiter gets the lock.

Exit code 0 if the lock was taken from somebody, 1 if nobody held it or you said no.

Examples:
  holdfast evict stock:42
  holdfast evict stock:42 --yes)";

struct evict_options {
    std::string name;
    bool yes = false;
    bool json = false;
};

bool confirmed(const lock_info& lock) {
    fmt::print(stderr, "Evict the lock \"{}\" held by {}? [y/N] ", lock.name.printable(), holder_text(lock));
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

int tell(const evict_options& given, const lock_name& name, bool evicted) {
    if (given.json) {
        fmt::print("{}\n", one_line({{"name", json_text(name.str())}, {"evicted", evicted}}));
    } else if (evicted) {
        fmt::print("evicted \"{}\"\n", name.printable());
    } else {
        fmt::print("\"{}\" is free: nobody holds it\n", name.printable());
    }
    return evicted ? exit_code::ok : exit_code::conflict;
}

int evict_lock(const evict_options& given, const context& shared) {
    const lock_name name{plain(given.name)};
    const bool can_ask = ::isatty(STDIN_FILENO) == 1;
    if (!given.yes && !can_ask)
        throw usage_error("evict asks before it acts, and stdin is not a terminal; give --yes");
    client on{shared.settings()};
    if (!given.yes) {
        const auto found = inspect(on, name);
        if (found.layout == "free") return tell(given, name, false);
        // A key of the clients' own is refused, whatever is answered.
        const bool may_be = !found.layout.starts_with("no lock");
        if (may_be && !confirmed(found)) return exit_code::conflict;
    }
    return tell(given, name, evict(on, name));
}

}  // namespace

void add_evict(CLI::App& app, context& shared) {
    auto* const command = app.add_subcommand("evict", "Take a lock away from whoever holds it");
    auto given = std::make_shared<evict_options>();
    command->fallthrough();
    command->footer(evict_examples);
    command->add_option("NAME", given->name, "The lock")->required();
    command->add_flag("-y,--yes", given->yes, "Do not ask");
    command->add_flag("--json", given->json, "A JSON object");
    command->callback([=, &shared] { shared.chosen = [=, &shared] { return evict_lock(*given, shared); }; });
}

}  // namespace holdfast::cli
