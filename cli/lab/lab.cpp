// holdfast lab: the locks of the articles, what goes wrong with each, and what cures it.
#include "cli/lab/story.hpp"

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/output.hpp"
#include "cli/signals.hpp"
#include "cli/stage/interrupted.hpp"
#include "cli/stage/workshop.hpp"

#include "lab/ladder.hpp"
#include "lab/performance.hpp"
#include "lab/schemes/schemes.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::cli {

namespace {

constexpr auto lab_help =
    R"(Each rung is a lock as the articles teach it. Real processes play its flaw on a real redis-server, always in the same order: what they believe and whose the key is stand side by side. Then the same order is played on the scheme that cures it, and on holdfast.

Needs nothing but redis-server on PATH. It never touches a Redis of yours: --url and HOLDFAST_URL are not looked at.

Exit code: 0 if everything went as predicted: each flaw was seen, and no cure showed it; 1 if not, 69 without a redis-server.

Examples:
  holdfast lab
  holdfast lab gold
  holdfast lab gold --on diamond
  holdfast lab --all --runs 20
  holdfast lab platinum --json | jq '.rungs[0].schedules[0].plays[0].beliefs')";

struct lab_wishes {
    std::string rung;
    bool all = false;
    int runs = 1;
    std::string on;
    bool json = false;
    bool perform = false;
};

// --- JSON ----------------------------------------------------------------------------------------

double in_ms(lab::instant t) {
    return std::round(std::chrono::duration<double, std::milli>(t).count() * 1000) / 1000;
}

nlohmann::ordered_json spans_as_json(const std::vector<lab::span>& spans) {
    auto out = nlohmann::ordered_json::array();
    for (const auto& one : spans)
        out.push_back({{"who", one.who}, {"from_ms", in_ms(one.from)}, {"to_ms", in_ms(one.to)}});
    return out;
}

nlohmann::ordered_json event_as_json(const lab::event& seen) {
    static constexpr std::array names{"step", "command", "stop", "says", "fault"};
    nlohmann::ordered_json out{{"at_ms", in_ms(seen.at)},
                               {"kind", names.at(static_cast<std::size_t>(seen.kind))},
                               {"who", seen.who},
                               {"text", seen.text}};
    if (seen.kind == lab::event_kind::command) out["reply"] = seen.reply;
    if (seen.times > 1) out["times"] = seen.times;
    return out;
}

nlohmann::ordered_json tally_as_json(const lab::tally& one) {
    static constexpr std::array roles{"flawed", "cure", "holdfast"};
    const auto& seen = one.last.seen;
    nlohmann::ordered_json out{{"scheme", one.cast.scheme},
                               {"role", roles.at(static_cast<std::size_t>(one.cast.as))},
                               {"runs", one.runs},
                               {"as_predicted", one.as_predicted},
                               {"flaw_seen", one.last.flaw_seen},
                               {"ttl_ms", seen.ttl.count()},
                               {"end_ms", in_ms(seen.end)}};
    out["overlaps"] = nlohmann::ordered_json::array();
    for (const auto& both : overlaps(seen)) {
        out["overlaps"].push_back({{"first", both.first},
                                   {"second", both.second},
                                   {"from_ms", in_ms(both.from)},
                                   {"to_ms", in_ms(both.to)}});
    }
    out["beliefs"] = spans_as_json(seen.beliefs);
    out["owners"] = spans_as_json(seen.owners);
    out["events"] = nlohmann::ordered_json::array();
    for (const auto& event : seen.events) out["events"].push_back(event_as_json(event));
    return out;
}

bool all_as_predicted(const std::vector<lab::tally>& all) {
    return std::ranges::all_of(all, [](const lab::tally& one) { return one.as_predicted == one.runs; });
}

nlohmann::ordered_json rungs_as_json(const std::vector<lab::tally>& all) {
    nlohmann::ordered_json out{{"as_predicted", all_as_predicted(all)},
                               {"rungs", nlohmann::ordered_json::array()}};
    const lab::rung* rung = nullptr;
    const lab::schedule* schedule = nullptr;
    for (const auto& one : all) {
        auto& rungs = out["rungs"];
        if (rung != one.of) {
            rung = one.of;
            rungs.push_back({{"rung", rung->name},
                             {"line", rung->line},
                             {"article", rung->article},
                             {"schedules", nlohmann::ordered_json::array()}});
        }
        auto& schedules = rungs.back()["schedules"];
        if (schedule != one.played) {
            schedule = one.played;
            schedules.push_back({{"schedule", schedule->name},
                                 {"flaw", schedule->flaw},
                                 {"why", schedule->why},
                                 {"plays", nlohmann::ordered_json::array()}});
        }
        schedules.back()["plays"].push_back(tally_as_json(one));
    }
    return out;
}

// --- playing -------------------------------------------------------------------------------------

std::string names_of_all(auto&& things) {
    std::vector<std::string_view> names;
    for (const auto& one : things) names.push_back(one.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<const lab::rung*> chosen_rungs(const lab_wishes& wanted) {
    std::vector<const lab::rung*> chosen;
    for (const auto& one : lab::ladder()) {
        if (wanted.all || one.name == wanted.rung) chosen.push_back(&one);
    }
    if (chosen.empty()) {
        throw usage_error(fmt::format("there is no rung \"{}\"; there are {}", base::printable(wanted.rung),
                                      names_of_all(lab::ladder())));
    }
    if (!wanted.on.empty() && lab::find_scheme(wanted.on) == nullptr) {
        throw usage_error(fmt::format("there is no scheme \"{}\"; there are {}", base::printable(wanted.on),
                                      names_of_all(lab::all_schemes())));
    }
    return chosen;
}

std::vector<lab::casting> cast_for(const lab::schedule& what, const lab_wishes& wanted) {
    if (wanted.on.empty()) return cast_of(what);
    return {{wanted.on, lab::role::flawed}};
}

std::vector<lab::tally> play_all(const std::vector<const lab::rung*>& rungs, const lab_wishes& wanted,
                                 signal_inbox& signals, const lab::story& view) {
    const stage::private_folder folder{"holdfast-lab"};
    const stage::private_server server{folder};
    const lab::surroundings around{server.socket().string(), folder, signals};
    std::vector<lab::tally> all;
    for (const auto* const rung : rungs) {
        if (!wanted.all) view.open(*rung);
        for (const auto& schedule : rung->schedules) {
            if (!wanted.all) view.open(schedule);
            for (const auto& cast : cast_for(schedule, wanted)) {
                auto& sum = all.emplace_back(lab::tally{rung, &schedule, cast, 0, 0, {}});
                for (; sum.runs < wanted.runs; ++sum.runs) {
                    auto seen = play(schedule, cast.scheme, cast.as, around);
                    if (!wanted.all && sum.runs == 0) view.tell(schedule, seen);
                    if (seen.as_predicted()) ++sum.as_predicted;
                    sum.last = std::move(seen);
                }
                if (wanted.all) view.tell_line(sum);
            }
        }
    }
    return all;
}

int show_lab(const lab_wishes& wanted) {
    const stage::page page{wanted.json ? stderr : stdout, wanted.json};
    const lab::story view{page};
    if (wanted.rung.empty() && !wanted.all) {
        const stage::page list{stdout, false};
        lab::story{list}.list();
        return exit_code::ok;
    }
    const auto rungs = chosen_rungs(wanted);
    // The processes of the lab come from this thread, and there is no other.
    signal_inbox signals;
    std::vector<lab::tally> all;
    try {
        if (wanted.all) view.head();
        all = play_all(rungs, wanted, signals, view);
    } catch (const stage::interrupted& by) {
        fmt::print(stderr,
                   "holdfast: interrupted; the processes of the lab are ended and its files removed\n");
        return exit_code::by_signal(by.signal);
    } catch (const stage::no_server& why) {
        fmt::print(stderr, "holdfast: {}\n", why.what());
        return exit_code::unavailable;
    }
    if (wanted.json) fmt::print("{}\n", one_line(rungs_as_json(all)));
    if (!wanted.all && wanted.runs > 1) {
        page.put("\n");
        view.head();
        for (const auto& one : all) view.tell_line(one);
    }
    if (all_as_predicted(all)) return exit_code::ok;
    fmt::print(stderr, "holdfast: not everything went as predicted\n");
    return 1;
}

}  // namespace

void add_lab(CLI::App& app, context& shared) {
    auto* const command =
        app.add_subcommand("lab", "Show what goes wrong with simpler locks, and what cures it");
    auto wanted = std::make_shared<lab_wishes>();
    command->footer(lab_help);
    auto* const rung = command->add_option("RUNG", wanted->rung, "The rung to play; none: lists them");
    command->add_flag("--all", wanted->all, "Play all rungs, and show a table")->excludes(rung);
    command->add_option("--runs", wanted->runs, "Play everything so many times")
        ->check(CLI::Range(1, 1'000'000).description(""))
        ->capture_default_str()
        ->type_name("N");
    command
        ->add_option("--on", wanted->on,
                     "Play the rung's schedules on this scheme instead, as if it had the flaws")
        ->type_name("SCHEME");
    command->add_flag("--json", wanted->json, "One JSON object on standard output");
    command->add_flag("--perform", wanted->perform)->group("");  // how the lab starts its processes
    command->callback([=, &shared] {
        shared.chosen = [=] {
            wanted->rung = plain(wanted->rung);
            return wanted->perform ? lab::perform() : show_lab(*wanted);
        };
    });
}

}  // namespace holdfast::cli
