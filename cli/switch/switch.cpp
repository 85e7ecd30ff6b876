// holdfast switch: shows and changes which store a group of clients uses.
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/format.hpp"
#include "cli/switch/mode_text.hpp"
#include "cli/switch/pin.hpp"
#include "cli/switch/publish.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::cli {

namespace {

constexpr auto switch_examples =
    R"(For a joint: URL, whose clients agree through an arbiter which of its stores, the levels, they use.

WHAT is:
  show        the mode: the level in use, or the two levels while the group changes
  history     the latest changes: when, who and why
  preferred   use the first level; also: redis, if it is one
  fallback    use the second level
  a number    use that level; the first one is 1
  joint       use the level in use and the next one together, and stay there: before
              planned work, so that the change after it takes effect at once
  automatic   let the clients change it: to a level that works when most hosts cannot
              use the present one for 3s, and back when a preferred one has worked
              for 60s (down_for and healthy_for in the URL); also: auto
  manual      change it by hand only; so does every change by hand
  pin N       say how to use level N without the arbiter, when that is lost for good;
              changes nothing
  publish FILE  write the document that clients with a switch.source arbiter:URL read,
              also those without a joint: URL; FILE may be -

A change goes from one level to its neighbour: for a time every lock is held in both. That time is a little longer than the
mode lease of the URL, 20s by default, after which no client can still use the level before. Locks stay held and are granted
meanwhile if both levels work. If the old level is down, no lock is granted until that time is over.
An interrupted change stays where it was; switch again, in either direction.
A level that does not answer, or is in quarantine, is refused unless --force is given. To leave such a level needs no --force.

Exit code 0 if the level is used, 75 if it was not reached within --wait, 69 if the arbiter or the level does not answer.

Examples:
  export HOLDFAST_URL=joint:redis://db1:6379,zk://h1,h2,h3
  holdfast switch show
  holdfast switch fallback --reason 'upgrade of Redis'
  holdfast switch preferred --reason 'Redis is back' --json
  holdfast switch automatic --reason 'on call is asleep')";

struct switch_command {
    std::string what = "show";
    std::string object;
    std::string source;
    std::string reason;
    std::string by;
    std::optional<std::chrono::milliseconds> wait;
    bool force = false;
    bool dry_run = false;
    bool json = false;
};

int show(const admin::group_mode& mode, const switch_command& given) {
    const bool with_history = given.what == "history";
    if (given.json)
        fmt::print("{}\n", one_line(to_json(mode, with_history)));
    else
        fmt::print("{}", with_history ? history_text(mode) : mode_text(mode));
    return exit_code::ok;
}

bool is_redis(const std::string& place) { return place.starts_with("redis") || place.starts_with("unix:"); }

// Returns the level that a word names; empty for "joint", which names two.
std::optional<std::size_t> goal_of(const std::string& what) {
    if (what == "joint") return std::nullopt;
    if (what == "preferred" || what == "redis") return 0;
    if (what == "fallback") return 1;
    if (what.empty() || what.find_first_not_of("0123456789") != std::string::npos)
        throw CLI::ValidationError(
            "WHAT",
            fmt::format("\"{}\" is none of show, history, preferred, redis, fallback, joint, automatic, "
                        "auto, manual, pin, publish, nor the number of a level",
                        base::printable(what)));
    return static_cast<std::size_t>(decimal("WHAT", what, 1, 8)) - 1;
}

void check_goal(const switch_command& given, const admin::group_mode& mode, std::optional<std::size_t> goal) {
    if (goal && *goal >= mode.levels.size())
        throw usage_error(
            fmt::format("the group has {} levels, and no level {}", mode.levels.size(), *goal + 1));
    if (given.what == "redis" && !is_redis(mode.levels.front()))
        throw usage_error(
            fmt::format("the first level is {}, which is no Redis; say preferred", mode.levels.front()));
}

bool is_about_automation(const std::string& what) { return what == "automatic" || what == "manual"; }

int automate(client& on, const switch_command& given) {
    const bool is_on = given.what == "automatic";
    const auto now = given.dry_run
                         ? admin::mode(on)
                         : admin::set_automatic(on, is_on, {.by = given.by, .reason = given.reason});
    auto shown = to_json(now, false);
    if (given.dry_run) shown["would"] = {{"steps", nlohmann::ordered_json::array()}, {"automatic", is_on}};
    if (given.json)
        fmt::print("{}\n", one_line(shown));
    else
        fmt::print("the group {} its mode {}\n", given.dry_run ? "would change" : "changes",
                   is_on ? "by itself" : "by hand only");
    return exit_code::ok;
}

// A change that is not made: what is so already, or what would be done.
std::string without_change(const admin::group_mode& now, std::optional<std::size_t> goal, bool is_reached) {
    const auto used = in_words(now, now.needed);
    const bool is_automatic = now.automation && now.automation->on;
    if (is_reached && is_automatic) return used + " is in use; the group would change its mode by hand only";
    if (is_reached) return used + (goal ? " is" : " are") + " in use already";
    return used + " is in use; " + (goal ? now.levels[*goal] : "it and its neighbour, together,") +
           " would be";
}

int change(client& on, const switch_command& given) {
    const auto goal = goal_of(given.what);
    const auto began = admin::mode(on);
    check_goal(given, began, goal);
    const auto is_reached = [&](const admin::group_mode& m) { return goal ? m.uses_only(*goal) : m.settled; };
    const auto tell = [&](const admin::group_mode& now) {
        if (given.json) return;
        fmt::print("{}{}\n", in_words(now, now.needed),
                   now.needed.size() == 1 ? ""
                   : now.settled          ? ", until the next change"
                                          : fmt::format(", for at least {}", rough(now.must_last)));
        std::fflush(stdout);
    };
    const bool stays = !began.automation || !began.automation->on;
    if ((is_reached(began) && stays) || given.dry_run) {
        auto shown = to_json(began, false);
        if (given.dry_run) shown["would"] = plan_to_json(began, goal);
        if (given.json)
            fmt::print("{}\n", one_line(shown));
        else
            fmt::print("{}\n", without_change(began, goal, is_reached(began)));
        return exit_code::ok;
    }
    admin::switch_options how{.by = given.by, .reason = given.reason, .on_step = tell, .force = given.force};
    if (given.wait) how.wait = *given.wait;
    const auto reached = goal ? admin::switch_mode(on, *goal, how) : admin::use_two_levels(on, how);
    if (given.json)
        fmt::print("{}\n", one_line(to_json(reached, false)));
    else if (reached.settled)
        tell(reached);
    return exit_code::ok;
}

int use_switch(const switch_command& given, const context& shared) {
    if (given.what == "publish") {
        if (given.dry_run)
            throw usage_error("publish has no --dry-run: what clients would refuse is not written");
        auto settings = shared.settings_with_policies();
        if (!given.source.empty()) settings.switch_source = given.source;
        return publish(settings, given.object, given.json);
    }
    if (given.what != "pin" && !given.object.empty())
        throw usage_error(fmt::format("nothing follows after \"{}\"", given.what));
    if (given.what == "pin") return show_pin(shared.settings(), given.object, given.json);
    const bool only_shows = given.what == "show" || given.what == "history";
    if (!only_shows && !given.dry_run && given.reason.empty())
        throw usage_error("a change needs a --reason, for those who look at the history later");
    client on{shared.settings()};
    try {
        if (only_shows) return show(admin::mode(on), given);
        return is_about_automation(given.what) ? automate(on, given) : change(on, given);
    } catch (const error& e) {
        if (e.code() == errc::timed_out) return report_error(exit_code::lost, e.what());
        throw;
    }
}

}  // namespace

void add_switch(CLI::App& app, context& shared) {
    auto* const command = app.add_subcommand("switch", "Show or change which store a group of clients uses");
    auto given = std::make_shared<switch_command>();
    command->fallthrough();
    command->footer(switch_examples);
    command->add_option("WHAT", given->what, "What to do: see below (default: show)")->type_name("WORD");
    command->add_option("OBJECT", given->object, "The level for pin, the file for publish")
        ->type_name("LEVEL|FILE");
    command->add_option("--source", given->source, "Where to publish (default: switch.source of --config)")
        ->type_name("arbiter:URL");
    command->add_option("--reason", given->reason, "Why; required for a change")->type_name("WHY");
    command->add_option("--by", given->by, "Who wants it (default: the user)")->type_name("NAME");
    add_duration(*command, "-w,--wait", given->wait, "Give up after this time (default: 2m)");
    command->add_flag("--force", given->force, "Change to a level that grants no locks now, too");
    command->add_flag("--dry-run", given->dry_run, "Only say what would be done");
    command->add_flag("--json", given->json, "Print a JSON object");
    command->callback([=, &shared] {
        auto& word = given->what;
        if (word == "auto") word = "automatic";
        const bool is_no_mode = word == "show" || word == "history" || word == "pin" || word == "publish";
        if (!is_no_mode && !is_about_automation(word)) (void)goal_of(word);
        shared.chosen = [=, &shared] { return use_switch(*given, shared); };
    });
}

}  // namespace holdfast::cli
