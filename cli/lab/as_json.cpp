#include "cli/lab/as_json.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <cmath>

namespace holdfast::lab {

namespace {

using json = nlohmann::ordered_json;

double in_ms(instant t) {
    return std::round(std::chrono::duration<double, std::milli>(t).count() * 1000) / 1000;
}

json as_json(const place& one);
json as_json(const tally& one);
json as_json(const schedule_results& of);
json as_json(const rung_results& of);

json list_of(const auto& things, auto as_one) {
    auto out = json::array();
    for (const auto& one : things) out.push_back(as_one(one));
    return out;
}

json as_json(const span& one) {
    return {{"who", one.who}, {"from_ms", in_ms(one.from)}, {"to_ms", in_ms(one.to)}};
}

json as_json(const overlap& both) {
    return {{"first", both.first},
            {"second", both.second},
            {"from_ms", in_ms(both.from)},
            {"to_ms", in_ms(both.to)}};
}

json as_json(const event& seen) {
    static constexpr std::array names{"step", "command", "stop", "says", "fault"};
    json out{{"at_ms", in_ms(seen.at)},
             {"kind", names.at(static_cast<std::size_t>(seen.kind))},
             {"who", seen.who},
             {"text", seen.text}};
    if (seen.kind == event_kind::command) out["reply"] = seen.reply;
    if (seen.times > 1) out["times"] = seen.times;
    return out;
}

constexpr auto any = [](const auto& one) { return as_json(one); };

json as_json(const place& one) { return {{"place", one.name}, {"owners", list_of(one.owners, any)}}; }

json as_json(const tally& one) {
    static constexpr std::array roles{"flawed", "cure", "holdfast", "joint", "any"};
    const auto& seen = one.shown.seen;
    json out{{"scheme", one.cast.scheme},
             {"role", roles.at(static_cast<std::size_t>(one.cast.as))},
             {"runs", one.runs},
             {"as_predicted", one.as_predicted},
             {"flaw_seen", one.shown.flaw_seen},
             {"ttl_ms", seen.ttl.count()},
             {"end_ms", in_ms(seen.end)},
             {"overlaps", list_of(overlaps(seen), any)},
             {"beliefs", list_of(seen.beliefs, any)},
             {"places", list_of(seen.places, any)},
             {"events", list_of(seen.events, any)}};
    if (!one.shown.broken.empty()) out["broken"] = one.shown.broken;
    return out;
}

json as_json(const schedule_results& of) {
    return {{"schedule", of.played->name},
            {"flaw", of.played->flaw},
            {"why", of.played->why},
            {"plays", list_of(of.plays, any)}};
}

json as_json(const rung_results& of) {
    return {{"rung", of.of->name},
            {"line", of.of->line},
            {"article", of.of->article},
            {"schedules", list_of(of.schedules, any)}};
}

}  // namespace

nlohmann::ordered_json as_json(const results& all) {
    return {{"as_predicted", all_good(all)}, {"rungs", list_of(all, any)}};
}

}  // namespace holdfast::lab
