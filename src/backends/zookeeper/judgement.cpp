#include "backends/zookeeper/judgement.hpp"

#include "backends/zookeeper/names.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace holdfast::zookeeper_backend {

using namespace backend;

namespace {

constexpr std::string_view ensemble = "the ensemble";

// What follows `key` in its line; empty if no line begins with it.
std::string_view value_of(std::string_view text, std::string_view key) {
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.starts_with(key)) return line.substr(key.size());
    }
    return {};
}

finding of_voters(const ensemble_state& s) {
    finding f{"zookeeper-voters", severity::ok, std::string{ensemble}, "", "", "", promise::live};
    if (!s.config) {
        f.how_bad = severity::unknown;
        f.found = "the servers hide /zookeeper/config: " + s.config_refused;
        f.meaning = "the number of servers is not known";
        f.mending = "let this user read that node";
        return f;
    }
    const auto voters = voters_in(*s.config);
    f.found = std::to_string(voters) + " servers vote";
    if (voters == 0) {
        f.how_bad = severity::note;
        f.found = "it is a single server";
        f.meaning = "while it is down, nobody locks; if its disk is lost, two clients may hold one lock";
        f.mending = "run an ensemble of three or five servers";
    } else if (voters < 3) {
        f.how_bad = severity::note;
        f.meaning = "the loss of one server stops all locks";
        f.mending = "run three or five servers";
    } else {
        f.meaning = "locks work while " + std::to_string(voters / 2 + 1) + " of them do";
    }
    return f;
}

finding of_session(const ensemble_state& s) {
    finding f{"zookeeper-session",
              severity::note,
              std::string{ensemble},
              "the servers grant sessions of " + base::to_text(s.session),
              "a client that is cut off keeps its locks for so long, and no lease outlasts this without an "
              "answer",
              "",
              promise::none};
    if (s.session < 2 * s.tick) {
        f.how_bad = severity::warning;
        f.meaning =
            "that is less than two ticks of " + base::to_text(s.tick) + ", so leases are hard to prove";
        f.mending =
            "give tick= in the URL, if tickTime of the servers is shorter; or raise minSessionTimeout";
        f.falls = promise::live;
    } else if (s.session < s.lease) {
        f.how_bad = severity::warning;
        f.meaning =
            "a lease of " + base::to_text(s.lease) + " ends earlier when the ensemble does not answer";
        f.mending = "raise maxSessionTimeout of the servers, or make leases shorter";
        f.falls = promise::live;
    }
    return f;
}

// "3.8.0" is {3, 8, 0}; empty if it does not begin like that.
std::optional<std::array<int, 3>> parsed_version(std::string_view text) {
    std::array<int, 3> parts{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0 && !text.starts_with('.')) return std::nullopt;
        if (i > 0) text.remove_prefix(1);
        const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), parts[i]);
        if (ec != std::errc{}) return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
    return parts;
}

finding of_version(const std::string& address, std::string_view version) {
    finding f{
        "zookeeper-version", severity::ok, address, "it is ZooKeeper " + base::printable(version), "", "",
        promise::timed};
    const auto parts = parsed_version(version);
    const auto is_between = [&](std::array<int, 3> first, std::array<int, 3> fixed) {
        return *parts >= first && *parts < fixed;
    };
    if (!parts) {
        f.how_bad = severity::unknown;
        f.meaning = "whether it loses transactions is not known";
    } else if (is_between({0, 0, 0}, {3, 5, 0})) {
        f.how_bad = severity::danger;
        f.meaning = "it has no containers, which the directories of locks are";
        f.mending = "upgrade to 3.8.5, 3.9.2 or later";
    } else if (is_between({3, 5, 0}, {3, 8, 5}) || is_between({3, 9, 0}, {3, 9, 2})) {
        f.how_bad = severity::warning;
        f.meaning =
            "an ensemble of it may lose acknowledged transactions when servers fail while a follower "
            "synchronizes (ZOOKEEPER-4785), and with them a lock that is held";
        f.mending = "upgrade to 3.8.5, 3.9.2 or later";
    } else {
        f.meaning = "no loss of acknowledged transactions is known in it";
    }
    return f;
}

// A server counts the times that it synced its log, and it has logged at least our own session.
finding of_disk(const std::string& address, std::string_view mntr) {
    finding f{"zookeeper-force-sync", severity::ok, address, "it syncs its transactions to disk", "", "",
              promise::timed};
    const auto count = value_of(mntr, "zk_cnt_fsynctime\t");
    if (count.empty()) {
        f.how_bad = severity::unknown;
        f.found = "it does not tell whether it syncs its transactions to disk";
        f.meaning = "with forceSync=no, a power failure may lose locks that are held";
        f.mending = "add mntr to 4lw.commands.whitelist, or look for forceSync in its configuration";
    } else if (count == "0" || count == "0.0") {
        f.how_bad = severity::danger;
        f.found = "forceSync is no: it does not sync its transactions to disk";
        f.meaning = "a power failure may lose locks that are held, so two clients may hold one lock";
        f.mending = "remove forceSync=no";
    } else {
        f.meaning = "acknowledged transactions outlive a power failure";
    }
    return f;
}

finding of_numbers(const ensemble_state& s) {
    constexpr std::int64_t much = std::int64_t{1} << 30;
    finding f{
        "zookeeper-sequence",
        severity::ok,
        std::string{ensemble},
        "the most numbers were given out in " + base::printable(s.busiest) + ": " + std::to_string(s.numbers),
        "there are 2147483647 in each directory",
        "",
        promise::live};
    if (!s.numbers_refused.empty()) {
        f.how_bad = severity::unknown;
        f.found = "the directories of the locks cannot be read: " + s.numbers_refused;
        f.meaning = "whether numbers run out is not known";
        f.mending = "let this user read them";
    } else if (s.busiest.empty()) {
        f.found = "no directory of a lock is there";
    } else if (s.numbers >= highest_number) {
        f.how_bad = severity::danger;
        f.meaning = "the numbers are used up, and the lock is refused";
        f.mending = "delete the directory while nobody holds or wants the lock, and the numbers start anew";
    } else if (s.numbers >= much) {
        f.how_bad = severity::warning;
        f.meaning = "when its 2147483647 numbers are used up, the lock is refused";
        f.mending = "delete the directory while nobody holds or wants the lock, and the numbers start anew";
    }
    return f;
}

void judge_server(const zookeeper::told& s, examination& to) {
    if (s.srvr.empty()) {
        to.servers.push_back({s.address, "", "", "", std::nullopt, {}, std::nullopt});
        to.findings.push_back({"unreachable", severity::warning, s.address, "it does not answer: " + s.why,
                               "the ensemble does without it", "start it, or correct the URL",
                               promise::live});
        return;
    }
    const auto version_line = value_of(s.srvr, "Zookeeper version: ");
    const auto version = version_line.substr(0, version_line.find_first_of("-, "));
    const auto mode = value_of(s.srvr, "Mode: ");
    to.servers.push_back({s.address,
                          std::string{version},
                          std::string{mode},
                          "",
                          std::nullopt,
                          {},
                          std::chrono::duration_cast<std::chrono::microseconds>(s.round_trip)});
    if (version_line.empty() && s.srvr.find("whitelist") != std::string::npos) {
        to.findings.push_back({"zookeeper-version", severity::unknown, s.address,
                               "it does not answer srvr: " + base::printable(s.srvr.substr(0, 100)),
                               "its version and role are not known", "add srvr to 4lw.commands.whitelist",
                               promise::none});
        return;
    }
    if (mode.empty()) {
        to.findings.push_back({"unreachable", severity::warning, s.address, "it serves nobody now",
                               "it is not connected to a leader", "look into its log", promise::live});
        return;
    }
    to.findings.push_back(of_version(s.address, version));
    to.findings.push_back(of_disk(s.address, s.mntr));
}

}  // namespace

examination judge(const ensemble_state& s) {
    examination all;
    all.findings = {of_voters(s), of_session(s), of_numbers(s)};
    for (const auto& one : s.servers) judge_server(one, all);
    return all;
}

std::size_t voters_in(std::string_view config) {
    std::size_t voters = 0;
    while (!config.empty()) {
        const auto line = config.substr(0, config.find('\n'));
        config.remove_prefix(std::min(config.size(), line.size() + 1));
        if (line.starts_with("server.") && line.find(":observer") == std::string_view::npos) ++voters;
    }
    return voters;
}

// The servers show twice the number of creations less the children there are, in 32 bits that overflow.
std::int64_t numbers_given(const zookeeper::stat& directory) noexcept {
    const auto twice =
        static_cast<std::uint32_t>(directory.cversion) + static_cast<std::uint32_t>(directory.num_children);
    return twice / 2;
}

}  // namespace holdfast::zookeeper_backend
