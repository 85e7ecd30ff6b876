// holdfast latch: sets a latch, counts it down and waits for it.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/format.hpp"

#include <holdfast/client.hpp>
#include <holdfast/latch.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::cli {

namespace {

constexpr auto latch_examples =
    R"(What to do:
  set COUNT      sets the count; exit code 1 if the count is not zero
  down [COUNT]   counts down by COUNT or 1, and prints the new count
  wait           waits until the count is zero; exit code 1 if --wait ends first
  count          prints the count; zero if nobody has set the latch
  erase          sets the count to zero, which ends all waits; exit code 1 if it was zero

It is the same latch as Redisson's RCountDownLatch.

Examples:
  holdfast latch ready set 3
  holdfast latch ready down
  holdfast latch ready wait --wait 5m && ./start)";

struct latch_options {
    std::string name;
    std::string what;
    std::optional<std::int64_t> count;
    std::optional<std::chrono::milliseconds> wait;
    bool json = false;
};

void check(const latch_options& given) {
    if (given.what == "set" && !given.count) throw usage_error("set needs a count: write it after \"set\"");
    if (given.count && given.what != "set" && given.what != "down")
        throw usage_error("a count is for set and down only");
    if (given.wait && given.what != "wait") throw usage_error("--wait is for wait only");
}

struct result {
    bool done = true;
    std::optional<std::int64_t> left{};  // the count, if known
};

result act(latch& of, const latch_options& given) {
    if (given.what == "set") {
        if (of.try_set_count(*given.count)) return {true, given.count};
        return {false};
    }
    if (given.what == "down") return {true, of.count_down(given.count.value_or(1))};
    if (given.what == "count") return {true, of.count()};
    if (given.what == "erase") return {of.erase(), 0};
    if (given.wait && !of.wait_for(*given.wait)) return {false};
    if (!given.wait) of.wait();
    return {true, 0};
}

int use_latch(const latch_options& given, const context& shared) {
    check(given);
    client on{shared.settings()};
    latch of{on, lock_name{plain(given.name)}};
    const auto r = act(of, given);
    if (given.json) {
        nlohmann::ordered_json line{{"name", json_text(of.name().str())}, {"done", r.done}};
        if (r.left) line["count"] = *r.left;
        fmt::print("{}\n", one_line(line));
    } else if (given.what == "down" || given.what == "count") {
        fmt::print("{}\n", *r.left);
    }
    return r.done ? exit_code::ok : exit_code::conflict;
}

}  // namespace

void add_latch(CLI::App& app, context& shared) {
    auto* const command = app.add_subcommand("latch", "Wait until a number of things have happened");
    auto given = std::make_shared<latch_options>();
    command->fallthrough();
    command->footer(latch_examples);
    command->add_option("NAME", given->name, "The latch")->required();
    command->add_option("WHAT", given->what, "What to do: see below")
        ->check(CLI::IsMember({"set", "down", "wait", "count", "erase"}))
        ->type_name("WORD")
        ->required();
    add_number(*command, "COUNT", given->count, 1, largest_count, "The count to set, or to count down by");
    add_duration(*command, "-w,--wait", given->wait, "Wait at most this long");
    command->add_flag("--json", given->json, "Print a JSON object");
    command->callback([=, &shared] { shared.chosen = [=, &shared] { return use_latch(*given, shared); }; });
}

}  // namespace holdfast::cli
