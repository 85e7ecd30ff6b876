#include "cli/switch/mode_text.hpp"

#include "cli/output/format.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::cli {

namespace {

std::string levels_in_words(const std::vector<std::size_t>& of) {
    std::string all = of.size() == 1 ? "level" : "levels";
    for (const auto i : of) all += fmt::format("{} {}", i == of.front() ? "" : ",", i + 1);
    return all;
}

nlohmann::ordered_json numbers(const std::vector<std::size_t>& needed) {
    auto all = nlohmann::ordered_json::array();
    for (const auto i : needed) all.push_back(i + 1);
    return all;
}

}  // namespace

std::string in_words(const admin::group_mode& mode, const std::vector<std::size_t>& needed) {
    if (needed.size() == 1) return mode.levels.at(needed.front());
    return fmt::format("{} and {}, together", mode.levels.at(needed.front()), mode.levels.at(needed.back()));
}

std::string history_text(const admin::group_mode& mode) {
    if (mode.history.empty()) return "The mode was never changed.\n";
    std::string text;
    for (const auto& one : mode.history)
        text += fmt::format("{}  {}\n    by {} on {}, pid {}: {}\n", iso_time(one.when),
                            in_words(mode, one.needed), one.author.by, one.author.host, one.author.pid,
                            one.author.reason);
    return text;
}

std::string mode_text(const admin::group_mode& mode) {
    auto text = fmt::format("group    {}\narbiter  {}\n", mode.group, mode.arbiter);
    for (std::size_t i = 0; i < mode.levels.size(); ++i) {
        const bool used = std::ranges::find(mode.needed, i) != mode.needed.end();
        text += fmt::format("level {}  {}{}\n", i + 1, mode.levels[i], used ? "  in use" : "");
    }
    if (const auto& a = mode.automation)
        text += fmt::format("{} since {}, says {}: {}\n", a->on ? "automatic" : "manual   ",
                            iso_time(a->when), a->author.by, a->author.reason);
    for (const auto& one : mode.reports)
        text += fmt::format("host     {}: {}\n", one.host,
                            one.down.empty() ? "all levels work" : "cannot use " + levels_in_words(one.down));
    if (mode.settled)
        text += "A change to one of the levels in use takes effect at once.\n";
    else if (mode.must_last > std::chrono::milliseconds{0})
        text += fmt::format("The next change may follow in {}.\n", rough(mode.must_last));
    return text;
}

nlohmann::ordered_json plan_to_json(const admin::group_mode& now, std::optional<std::size_t> goal) {
    auto steps = nlohmann::ordered_json::array();
    auto at = now.needed;
    const auto step = [&](std::vector<std::size_t> next) {
        at = std::move(next);
        steps.push_back({{"in_use", numbers(at)}});
    };
    const auto neighbour = [&](bool after) { return after ? at.front() + 1 : at.front() - 1; };
    if (!goal && at.size() == 1) step({at.front(), neighbour(at.front() + 1 < now.levels.size())});
    while (goal && at != std::vector{*goal}) {
        if (at.size() == 1)
            step({at.front(), neighbour(*goal > at.front())});
        else
            step({std::clamp(*goal, std::min(at[0], at[1]), std::max(at[0], at[1]))});
    }
    return {{"steps", steps}, {"settled", !goal}, {"automatic", false}};
}

nlohmann::ordered_json to_json(const admin::group_mode& mode, bool with_history) {
    nlohmann::ordered_json out{{"group", mode.group},
                               {"arbiter", mode.arbiter},
                               {"levels", mode.levels},
                               {"epoch", mode.epoch},
                               {"in_use", numbers(mode.needed)}};
    out["settled"] = mode.settled;
    out["must_last_ms"] = mode.must_last.count();
    if (const auto& a = mode.automation)
        out["automation"] = {{"on", a->on},
                             {"at", iso_time(a->when)},
                             {"by", json_text(a->author.by)},
                             {"reason", json_text(a->author.reason)}};
    if (!mode.reports.empty()) out["reports"] = nlohmann::ordered_json::array();
    for (const auto& one : mode.reports)
        out["reports"].push_back({{"host", json_text(one.host)}, {"down", numbers(one.down)}});
    if (!with_history) return out;
    out["history"] = nlohmann::ordered_json::array();
    for (const auto& one : mode.history)
        out["history"].push_back({{"epoch", one.epoch},
                                  {"in_use", numbers(one.needed)},
                                  {"at", iso_time(one.when)},
                                  {"by", json_text(one.author.by)},
                                  {"host", json_text(one.author.host)},
                                  {"pid", one.author.pid},
                                  {"reason", json_text(one.author.reason)}});
    return out;
}

}  // namespace holdfast::cli
