#include "cli/doctor/examination_text.hpp"

#include "cli/output/format.hpp"
#include "cli/output/wrap.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast::cli {

namespace {

std::string indented(const std::string& sentence, std::size_t by, std::size_t width) {
    return filled(base::without_controls(sentence), by, by, width);
}

std::string_view heading_of(severity s) {
    switch (s) {
        case severity::danger: return "DANGER";
        case severity::warning: return "WARNING";
        case severity::unknown: return "COULD NOT LOOK";
        case severity::note: return "NOTE";
        case severity::ok: return "well";
    }
    return {};
}

std::string in_ms(std::chrono::microseconds d) {
    return fmt::format("{:.1f} ms", static_cast<double>(d.count()) / 1000);
}

std::string about(const examined_server& server, std::size_t width) {
    auto line = base::without_controls(server.address);
    // Redis says "slave" where it means a replica.
    const auto role = server.role == "slave" ? "replica" : server.role;
    // Only Redis says no more than a number.
    const bool named = !server.version.empty() && (server.version[0] < '0' || server.version[0] > '9');
    line += server.version.empty() ? "  unknown version"
                                   : (named ? "  " : "  Redis ") + base::printable(server.version);
    if (!role.empty()) line += ", " + base::printable(role);
    if (server.clock_offset)
        line += fmt::format(", clock {}{} +- {}", server.clock_offset->count() < 0 ? "" : "+",
                            in_ms(*server.clock_offset), in_ms(server.clock_error));
    if (server.round_trip) line += ", round trip " + in_ms(*server.round_trip);
    return filled(line, 0, 4, width);
}

// `of` names the servers with this finding, if there are several servers.
std::string sentence_about_finding(const finding& f, const std::string& of, std::size_t width) {
    auto line = f.id;
    if (!of.empty()) line += "  " + of;
    if (f.falls != promise::none && f.how_bad >= severity::unknown)
        line += fmt::format("  ({} falls)", to_string(f.falls));
    auto out = filled(base::without_controls(line), 2, 4, width) + indented(f.found, 6, width);
    if (!f.meaning.empty()) out += indented(f.meaning, 6, width);
    if (!f.mending.empty()) out += "      mend: " + base::without_controls(f.mending) + '\n';
    return out;
}

// Writes a finding that is the same on several servers once.
std::string findings_of(const examination& of, severity s, bool several_servers, std::size_t width) {
    std::vector<std::pair<const finding*, std::string>> merged;
    for (const auto& f : of.findings) {
        if (f.how_bad != s) continue;
        const auto same = std::find_if(merged.begin(), merged.end(), [&](const auto& other) {
            return other.first->id == f.id && other.first->found == f.found &&
                   other.first->mending == f.mending;
        });
        if (same == merged.end())
            merged.emplace_back(&f, several_servers ? f.subject : "");
        else
            same->second += ", " + f.subject;
    }
    std::string out;
    for (const auto& [f, servers] : merged) out += sentence_about_finding(*f, servers, width);
    return out;
}

// One refusal by a server may leave many things unknown: they are grouped by it.
std::string not_seen(const examination& of, bool several_servers, std::size_t width) {
    std::map<std::tuple<std::string, std::string, std::string>, std::string> by_reason;
    for (const auto& f : of.findings) {
        if (f.how_bad != severity::unknown) continue;
        auto& ids = by_reason[{f.subject, f.found, f.mending}];
        ids.append(ids.empty() ? "" : ", ").append(f.id);
        if (f.falls != promise::none) ids += fmt::format(" ({})", to_string(f.falls));
    }
    std::string out;
    for (const auto& [reason, ids] : by_reason) {
        const auto& [subject, found, mending] = reason;
        const auto line = several_servers ? subject + ": " + ids : ids;
        out += filled(base::without_controls(line), 2, 4, width) + indented(found, 6, width) +
               "      mend: " + base::without_controls(mending) + '\n';
    }
    return out;
}

nlohmann::ordered_json text_or_null(std::string_view text) {
    return text.empty() ? nlohmann::ordered_json(nullptr)
                        : nlohmann::ordered_json(json_text(std::string{text}));
}

nlohmann::ordered_json milliseconds_or_null(const std::optional<std::chrono::microseconds>& d) {
    return d ? nlohmann::ordered_json(static_cast<double>(d->count()) / 1000)
             : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string described(const examination& of, detail how_much, std::size_t width) {
    std::string out;
    if (how_much == detail::all)
        for (const auto& server : of.servers) out += about(server, width);
    std::set<std::string_view> subjects;
    for (const auto& f : of.findings)
        if (f.how_bad != severity::ok) subjects.insert(f.subject);
    const bool several = of.servers.size() > 1 || subjects.size() > 1;
    for (const auto s : {severity::danger, severity::warning, severity::unknown, severity::note}) {
        if (how_much == detail::wrong_only && s == severity::note) break;
        const auto group =
            s == severity::unknown ? not_seen(of, several, width) : findings_of(of, s, several, width);
        if (!group.empty()) out += fmt::format("{}{}\n{}", out.empty() ? "" : "\n", heading_of(s), group);
    }
    if (how_much == detail::wrong_only) return out;
    std::string well;
    std::set<std::string_view> named;
    for (const auto& f : of.findings)
        if (f.how_bad != severity::ok) named.insert(f.id);
    for (const auto& f : of.findings)
        if (named.insert(f.id).second) well += ", " + f.id;
    if (!well.empty()) out += "\n" + indented("well: " + well.substr(2), 0, width);
    return out;
}

nlohmann::ordered_json to_json(const examination& of) {
    nlohmann::ordered_json out{{"worst", to_string(of.worst())}};
    out["servers"] = nlohmann::ordered_json::array();
    for (const auto& s : of.servers) {
        nlohmann::ordered_json server{{"address", json_text(s.address)}};
        server["version"] = text_or_null(s.version);
        server["role"] = text_or_null(s.role);
        server["run_id"] = text_or_null(s.run_id);
        server["clock_offset_ms"] = milliseconds_or_null(s.clock_offset);
        server["clock_error_ms"] =
            milliseconds_or_null(s.clock_offset ? std::optional{s.clock_error} : std::nullopt);
        server["round_trip_ms"] = milliseconds_or_null(s.round_trip);
        out["servers"].push_back(std::move(server));
    }
    out["findings"] = nlohmann::ordered_json::array();
    for (const auto& f : of.findings) {
        nlohmann::ordered_json finding{{"id", f.id}, {"severity", to_string(f.how_bad)}};
        finding["server"] = json_text(f.subject);
        finding["found"] = json_text(f.found);
        finding["meaning"] = json_text(f.meaning);
        finding["mending"] = text_or_null(f.mending);
        finding["promise"] = text_or_null(to_string(f.falls));
        out["findings"].push_back(std::move(finding));
    }
    return out;
}

}  // namespace holdfast::cli
