// chaos: real servers, real processes, real faults, and a judge of what they did. docs/testing.md explains
// it.
#include "chaos/runner/campaign.hpp"
#include "chaos/runner/client.hpp"
#include "chaos/runner/interrupt.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

namespace {

using namespace holdfast::chaos;

constexpr int misuse = 2;

// CLI11 by itself reads a number that is too large or negative as another number.
template <class Number>
CLI::Validator between(Number low, Number high) {
    return {[=](const std::string& text) {
                Number n{};
                const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
                const bool whole = ec == std::errc{} && end == text.data() + text.size();
                if (whole && n >= low && n <= high) return std::string{};
                return "\"" + text + "\" is no number from " + CLI::detail::to_string(low) + " to " +
                       CLI::detail::to_string(high);
            },
            {}};
}

int play(int argc, char** argv) {
    campaign_settings how;
    client_settings client;
    double minutes = 0;
    std::int64_t seconds = 60, lease = 0, round = 0, session = 0;
    constexpr std::int64_t most_seconds = 10'000'000, most_ms = 3'600'000;
    constexpr unsigned most_clients = 1'000;
    std::string careless;
    std::string judged;
    std::uint64_t planned_rounds = 0;
    how.seed = std::random_device{}();

    CLI::App app{"Locks under faults, and a judge of what they did."};
    app.add_option("--minutes", minutes, "length of the run; fractions are allowed")
        ->check(between(0.001, most_seconds / 60.0));
    app.add_option("--seconds", seconds, "length of the run, without --minutes (60)")
        ->check(between(std::int64_t{1}, most_seconds));
    app.add_option("--seed", how.seed, "the same seed makes the same schedule (default: a new one)")
        ->check(between(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()));
    app.add_option("--topology", how.topology,
                   "single, sentinel, cluster, quorum, sqlite, file, zookeeper, postgres, mariadb, joint, "
                   "joint_zookeeper or joint_levels (default: all, in turn)");
    auto* const is_careless =
        app.add_option("--careless", careless,
                       "locks without what protects them from failovers and restarts; on joint also "
                       "brief_step, on joint_zookeeper brief_step, ignored_lease or plain_read")
            ->expected(0, 1);
    app.add_option("--subject", how.subject, "holdfast, or a scheme of the lab");
    app.add_flag("--expect-violation", how.expect_violation,
                 "the first violation ends the run, and there must be one");
    app.add_option(
        "--only", how.only,
        "of the faults of servers and their links, only those whose name contains this (see --plan)");
    app.add_option("--mode-changes", how.mode_changes,
                   "on joint and joint_zookeeper: the run ends after this many changes from one store to the "
                   "other, and counts what was granted in each")
        ->check(between(std::size_t{1}, std::size_t{1'000'000}));
    app.add_option("--locks", how.locks, "only locks whose name contains this");
    app.add_option("--keep", how.keep, "folder for a history with a violation");
    app.add_option("--judge", judged, "judge the history of an earlier run");
    app.add_option("--plan", planned_rounds, "print the schedule of this many rounds, and do nothing else")
        ->check(between(std::uint64_t{1}, std::uint64_t{1'000'000}));
    app.add_option("--clients", how.clients, "processes (4)")->check(between(1U, most_clients));
    app.add_option("--threads", how.threads, "threads of each (4)")->check(between(1U, most_clients));
    app.add_option("--round", round, "length of a round in ms, before all clients must finish")
        ->check(between(std::int64_t{1}, most_ms));
    app.add_option("--lease", lease, "lease in ms")->check(between(std::int64_t{1}, most_ms));
    auto* const as_client = app.add_option("--client", client.process)->group("");
    app.add_option("--url", client.locks.url)->group("");
    app.add_option("--session", session)->group("");
    app.add_option("--replicas", client.locks.replicas)->group("");
    app.add_option("--socket", client.locks.socket)->group("");
    app.add_option("--resource", client.resource)->group("");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& wrong) {
        return app.exit(wrong) == 0 ? 0 : misuse;  // 0: --help
    }

    if (is_careless->count() > 0) how.care = client.locks.care = precautions_of(careless);
    how.lease = client.locks.lease = milliseconds{lease};
    how.round = milliseconds{round};
    if (as_client->count() > 0) {
        client.locks.subject = how.subject;
        if (session > 0) client.locks.session = milliseconds{session};
        client.locks.topology = how.topology;
        client.locks.who = "p" + std::to_string(client.process);
        client.seed = how.seed;
        client.threads = how.threads;
        client.only_locks = how.locks;
        return run_client(client);
    }
    if (!judged.empty()) return judge_file(judged);
    const bool all = how.topology.empty() && how.subject == "holdfast";
    if (how.topology.empty()) how.topology = "single";
    if (how.topology != "single" && how.subject != "holdfast")
        throw std::runtime_error{"the schemes of the lab need one server: --topology single"};
    check_subject(how.subject);
    if (how.care > precautions::left_out && !how.topology.starts_with("joint"))
        throw std::runtime_error{"only a joint store has that: --topology joint or joint_zookeeper"};
    if (how.care > precautions::brief_step && how.topology != "joint_zookeeper")
        throw std::runtime_error{"only an arbiter of its own can be cut off: --topology joint_zookeeper"};
    if (how.mode_changes > 0 && !how.topology.starts_with("joint"))
        throw std::runtime_error{"only a joint store has a mode: --topology joint or joint_zookeeper"};
    if (planned_rounds > 0) {
        print_plan(how, planned_rounds);
        return 0;
    }
    how.length =
        std::chrono::seconds{minutes > 0 ? static_cast<std::int64_t>(std::ceil(minutes * 60)) : seconds};
    check_keep(how.keep);
    catch_interrupts();
    return all ? run_all(how) : run_campaign(how);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return play(argc, argv);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "chaos: %s\n", e.what());
        return misuse;
    }
}
