#include <holdfast/examination.hpp>

#include "base/text.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace holdfast {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Rounds to milliseconds; below that, round trips make offsets meaningless.
std::string rounded(microseconds d) {
    return base::to_text(std::chrono::duration_cast<milliseconds>(std::chrono::abs(d)));
}

void find_same(examination& in) {
    for (std::size_t i = 0; i < in.servers.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const auto& one = in.servers[i];
            const auto& other = in.servers[j];
            // Sentinels may watch many masters.
            if (one.run_id.empty() || one.run_id != other.run_id || one.role == "sentinel") continue;
            in.findings.push_back({"same-server", severity::warning, one.address,
                                   "it is the same process as " + other.address,
                                   "Several addresses lead to one server, and fail together. A redlock of "
                                   "holdfast counts it once; a "
                                   "client that counts it twice takes it for a majority.",
                                   "Name each server once, by one address.", promise::timed});
            break;
        }
    }
}

// Reports a difference beyond the error of both offsets and beyond `unremarkable`.
void compare_clocks(examination& in) {
    constexpr microseconds unremarkable{100'000};
    std::vector<const examined_server*> known;
    for (const auto& s : in.servers)
        if (s.clock_offset) known.push_back(&s);
    if (known.size() < 2) return;
    const auto [behind, ahead] =
        std::minmax_element(known.begin(), known.end(),
                            [](const auto* a, const auto* b) { return *a->clock_offset < *b->clock_offset; });
    const auto apart = *(*ahead)->clock_offset - *(*behind)->clock_offset;
    const auto error = (*ahead)->clock_error + (*behind)->clock_error;
    const bool far = apart - error > unremarkable;
    in.findings.push_back(
        {"clocks-apart", far ? severity::warning : severity::ok, (*ahead)->address,
         "ahead of the clock of " + (*behind)->address + " by " + rounded(apart) + ", give or take " +
             rounded(error),
         "A server that takes over from another and has lost the fences makes smaller ones while "
         "its clock is behind.",
         far ? "Keep the clocks of all servers with NTP (chrony), and let it slew and not step." : "",
         promise::fenced});
}

// A server that was forgotten in an upgrade is noticed when a new command is first used.
void compare_versions(examination& in) {
    std::map<std::string, std::string> who;
    for (const auto& s : in.servers)
        if (!s.version.empty()) who[s.version].append(who[s.version].empty() ? "" : ", ").append(s.address);
    if (in.servers.size() < 2 || who.empty()) return;
    std::string list;
    for (const auto& [version, addresses] : who)
        list.append(list.empty() ? "" : "; ").append(version).append(" at ").append(addresses);
    const bool differ = who.size() > 1;
    in.findings.push_back({"versions-differ", differ ? severity::note : severity::ok, in.servers[0].address,
                           differ ? list : "all have the version " + who.begin()->first,
                           "Servers that stand for each other are best alike: what one can do the other may "
                           "refuse.",
                           differ ? "Bring all to the same version." : "", promise::none});
}

// Comparisons are made anew whenever more servers are combined.
void drop_comparisons(std::vector<finding>& from) {
    std::erase_if(from, [](const finding& f) {
        return f.id == "same-server" || f.id == "clocks-apart" || f.id == "versions-differ";
    });
}

// There is one local machine, however many servers were examined from it: the worst finding counts.
void tell_of_own_clock_once(std::vector<finding>& from) {
    const auto own = [](const finding& f) { return f.id == "own-clock"; };
    std::optional<finding> worst;
    for (const auto& f : from)
        if (own(f) && (!worst || f.how_bad > worst->how_bad)) worst = f;
    std::erase_if(from, own);
    if (worst) from.push_back(*worst);
}

}  // namespace

severity examination::worst() const noexcept {
    auto found = severity::ok;
    for (const auto& f : findings) {
        auto counts = f.how_bad;
        if (counts == severity::unknown)
            counts = f.falls == promise::none ? severity::note : severity::warning;
        found = std::max(found, counts);
    }
    return found;
}

examination together(std::vector<examination> all) {
    examination one;
    for (auto& e : all) {
        std::move(e.servers.begin(), e.servers.end(), std::back_inserter(one.servers));
        std::move(e.findings.begin(), e.findings.end(), std::back_inserter(one.findings));
    }
    drop_comparisons(one.findings);
    tell_of_own_clock_once(one.findings);
    find_same(one);
    compare_clocks(one);
    compare_versions(one);
    return one;
}

std::string_view to_string(severity s) noexcept {
    switch (s) {
        case severity::ok: return "ok";
        case severity::note: return "note";
        case severity::unknown: return "unknown";
        case severity::warning: return "warning";
        case severity::danger: return "danger";
    }
    return "unknown";
}

std::string_view to_string(promise p) noexcept {
    switch (p) {
        case promise::none: return "";
        case promise::fenced: return "S1";
        case promise::timed: return "S2";
        case promise::live: return "S3";
    }
    return "";
}

}  // namespace holdfast
