// holdfast evict: takes a lock away from its holder.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/format.hpp"

#include <holdfast/admin.hpp>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::cli {

namespace {

constexpr auto evict_examples =
    R"(evict first asks the holder, if it listens: its lease ends at once, and it releases the lock and confirms that. A command
under `holdfast run` is ended before the release. If the holder does not confirm in time (--wait), or cannot be asked,
evict removes the lock. The holder may then work beside the next one until it learns of the loss, at most for the rest
of its lease. The output says which case it was: only a holder that confirmed the release "gave it up".
The next waiter gets the lock. Only holders that you confirmed are evicted: a holder that comes meanwhile keeps the lock.
On a free fair mutex, evict removes the dead waiters at the head of the queue, which keep Redisson's clients out: waiters
for which nobody listens, and for which still nobody listens a second later.
A string that does not expire or is longer than 512 bytes may be data: it is removed only with --force.

Exit code 0 if a holder was evicted or dead waiters were removed. 1 if not: the lock was free, was released, expired or was
evicted by another client meanwhile, another client acquired it meanwhile, or you answered no.

Examples:
  holdfast evict stock:42
  holdfast evict stock:42 --yes
  holdfast evict backup --wait 30s             give a command time to end)";

struct evict_command {
    std::string name;
    bool yes = false;
    bool force = false;
    bool json = false;
    std::optional<std::chrono::milliseconds> wait;
};

bool confirmed(const lock_info& lock) {
    if (lock.dead_waiters > 0) {
        fmt::print(stderr, "The lock \"{}\" is free, but {}. Remove dead waiters? [y/N] ",
                   lock.name.printable(), dead_waiters_text(lock));
    } else {
        const auto data =
            lock.may_be_data() ? fmt::format(" (a string of {} bytes)", lock.bytes) : std::string{};
        fmt::print(stderr, "Evict the lock \"{}\"{} held by {}? [y/N] ", lock.name.printable(), data,
                   holder_text(lock));
    }
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

std::string_view way_word(admin::evicted_holder::way how) {
    switch (how) {
        case admin::evicted_holder::way::gave_up: return "gave_up";
        case admin::evicted_holder::way::silent: return "silent";
        case admin::evicted_holder::way::unreachable: return "unreachable";
    }
    return {};
}

std::string end_of(const admin::evicted_holder& one) {
    if (one.how == admin::evicted_holder::way::gave_up) return "gave it up";
    const auto* const why = one.how == admin::evicted_holder::way::silent ? "did not answer"
                            : one.who.since                               ? "does not listen"
                                                                          : "cannot be asked";
    if (!one.may_go_on) return fmt::format("{}, may go on", why);
    return fmt::format("{}, may go on for {}", why, rough(*one.may_go_on));
}

nlohmann::ordered_json json_of(const lock_name& name, const admin::eviction& end) {
    nlohmann::ordered_json out{{"name", json_text(name.str())}, {"evicted", bool{end}}};
    out["from"] = nlohmann::ordered_json::array();
    for (const auto& one : end.from) {
        auto holder = to_json(one.who);
        holder["how"] = way_word(one.how);
        holder["may_go_on_ms"] =
            one.may_go_on ? nlohmann::ordered_json(one.may_go_on->count()) : nlohmann::ordered_json(nullptr);
        out["from"].push_back(std::move(holder));
    }
    out["gone"] = nlohmann::ordered_json::array();
    for (const auto& one : end.gone) out["gone"].push_back(to_json(one));
    out["held_by"] = end.other ? to_json(*end.other) : nlohmann::ordered_json(nullptr);
    out["not_shown"] = end.not_shown;
    out["dead_waiters"] = end.dead_waiters;
    out["waiters_back"] = end.waiters_back;
    return out;
}

int print_result(const evict_command& given, const lock_name& name, const admin::eviction& end) {
    if (given.json) {
        fmt::print("{}\n", one_line(json_of(name, end)));
        return end ? exit_code::ok : exit_code::conflict;
    }
    for (const auto& one : end.from)
        fmt::print("evicted \"{}\": {} {}\n", name.printable(), holder_text(one.who), end_of(one));
    for (const auto& one : end.gone)
        fmt::print(
            "{} no longer holds \"{}\": released, expired, or taken away by another client meanwhile\n",
            holder_text(one), name.printable());
    const auto waiters = [](std::uint64_t n) { return fmt::format("{} waiter{}", n, n == 1 ? "" : "s"); };
    if (end.dead_waiters > 0)
        fmt::print("removed {} from the queue of \"{}\": no client listened for it for a second\n",
                   waiters(end.dead_waiters), name.printable());
    if (end.waiters_back > 0)
        fmt::print("{} in the queue of \"{}\" looked dead but came back: not removed\n",
                   waiters(end.waiters_back), name.printable());
    if (end.dead_waiters > 0 || end.waiters_back > 0) return end ? exit_code::ok : exit_code::conflict;
    if (end.other && end.from.empty()) {
        fmt::print("{} acquired \"{}\" meanwhile; nothing was evicted\n", holder_text(*end.other),
                   name.printable());
    } else if (end.from.empty() && !end.gone.empty()) {
        fmt::print("\"{}\" is free now; nothing was evicted\n", name.printable());
    } else if (end.from.empty()) {
        fmt::print("\"{}\" is free: nobody holds it\n", name.printable());
    } else if (end.not_shown > 0) {
        fmt::print("{} more holders of \"{}\" were not shown or came meanwhile; they keep it\n",
                   end.not_shown, name.printable());
    }
    return end ? exit_code::ok : exit_code::conflict;
}

int evict_lock(const evict_command& given, const context& shared) {
    const lock_name name{plain(given.name)};
    const bool can_ask = ::isatty(STDIN_FILENO) == 1;
    if (!given.yes && !can_ask)
        throw usage_error("evict asks before it acts, and stdin is not a terminal; give --yes");
    client on{shared.settings()};
    admin::evict_options options{.force = given.force};
    if (given.wait) options.wait = *given.wait;
    if (!given.yes) {
        const auto found = admin::inspect(on, name);
        if (found.layout == "free" && found.dead_waiters == 0) return print_result(given, name, {});
        // Without a question: evict() refuses a key that is not a lock or may be data.
        const bool may_be =
            found.dead_waiters > 0 || (!found.holders.empty() && (given.force || !found.may_be_data()));
        if (may_be && !confirmed(found)) return exit_code::conflict;
        for (const auto& h : found.holders) options.owners.push_back(h.owner);
        for (std::size_t i = 0; i < std::min<std::size_t>(found.dead_waiters, found.queue.size()); ++i)
            options.owners.push_back(found.queue[i].owner);
        // An empty list would evict any holder. No owner has the empty name, so this evicts none.
        if (options.owners.empty()) options.owners.emplace_back();
    }
    return print_result(given, name, admin::evict(on, name, options));
}

}  // namespace

void add_evict(CLI::App& app, context& shared) {
    auto* const command = app.add_subcommand("evict", "Take a lock away from its holder");
    auto given = std::make_shared<evict_command>();
    command->fallthrough();
    command->footer(evict_examples);
    command->add_option("NAME", given->name, "The lock")->required();
    command->add_flag("-y,--yes", given->yes, "Do not ask");
    add_duration(*command, "-w,--wait", given->wait,
                 "How long the holder has to end its lease, or its command (default: 1s)");
    command->add_flag("--force", given->force, "Also remove a string that may be data, not a lock");
    command->add_flag("--json", given->json, "Print a JSON object");
    command->callback([=, &shared] { shared.chosen = [=, &shared] { return evict_lock(*given, shared); }; });
}

}  // namespace holdfast::cli
