// holdfast run: the options, and the check that they fit together.
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/format.hpp"
#include "cli/process/unique_fd.hpp"
#include "cli/run/under_lock.hpp"

#include <holdfast/types.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

constexpr auto run_examples =
    R"(holdfast renews the lock while CMD runs. CMD runs in its own process group; holdfast forwards signals to it.

If the lock cannot be renewed, or if holdfast itself is killed or stopped for too long, CMD and all processes that it started
get TERM, then KILL, before another client can get the lock. A second process ensures this ("holdfast: guard of ...").
It cannot do so if it is stopped or killed, too (by root, or with the cgroup). It cannot end a process that now belongs to
another user (setuid) or that a service runs (systemd-run, docker).
If the lock was taken away, CMD is ended, too, but another client may hold the lock by then; `holdfast evict --wait` gives CMD time.
Processes that CMD leaves behind when it ends are left running.

Environment of CMD:
  HOLDFAST_LOCK     the names, one per line        HOLDFAST_TOKEN    the owner token in the store, one per line
  HOLDFAST_FENCE    the fence (if there is one)    HOLDFAST_LOST_FD  becomes readable when the lock is (nearly) lost
  HOLDFAST_STRENGTH whom it excludes: see --at-least-strength

Exit code: that of CMD, or 128 + the signal that ended it, or
  1    another client holds the lock (-n), or held it for the whole wait (-w); -E changes this code
  64   the command line or the configuration is wrong           69   the store cannot be reached or refuses
  71   this machine has no descriptor, process or memory left   74   the output cannot be written
  75   the lock was lost or --max-hold was over while CMD ran, or a lock was lost before CMD was started
  126  CMD cannot be executed                                   127  CMD was not found
If the lock cannot be released after CMD, stderr says why and when it is free; the exit code stays that of CMD.

Examples:
  holdfast run backup -- pg_dump shop -f shop.sql            wait for the lock, as long as it takes
  holdfast run -n nightly -- ./report                        do not wait if another client holds the lock
  holdfast run -w 30s stock:42 stock:43 -- ./move            both locks or none, within 30 s
  holdfast run --fenced ledger -- ./post                     with a fence for the store that ./post writes to
  holdfast run -s catalog -- ./search                        many readers at once, while nobody holds it with -x
  holdfast run --permits 1 --of 4 render -- ./frame 17       at most four at once, on all machines
  holdfast run -n --at-least 50s hourly -- ./tick            cron on several machines with unequal clocks
  holdfast run --replicas 1 ledger -- ./post                 only if a replica has the lock too
  holdfast run --max-hold 1h --grace 10s import -- ./import  TERM after an hour, KILL after 10 s more
  holdfast run --metrics-file backup.prom backup -- ./backup  how it went, for Prometheus
  holdfast run --policy nightly report -- ./report           also while the store is away, if the policy says so
  holdfast run --url redlock:redis://a,redis://b,redis://c hourly -- ./tick  on at least two of three servers
  holdfast run -n -- -name -- ./report                       a name that begins with "-")";

struct usage_with_command : CLI::Formatter {
    std::string make_usage(const CLI::App* app, std::string name) const override {
        auto usage = CLI::Formatter::make_usage(app, std::move(name));
        // CLI11 takes the names as optional: see words_of().
        constexpr std::string_view optional = "[NAME...]";
        if (const auto at = usage.find(optional); at != std::string::npos)
            usage.replace(at, optional.size(), "NAME...");
        usage.insert(usage.find_last_not_of('\n') + 1, " -- CMD ARG...");
        return usage;
    }
};

// A semaphore grants no more at a time.
constexpr std::int64_t most_permits = 1'000'000'000;
constexpr std::uint32_t most_permits_with_ids = 1'000;
constexpr std::int64_t most_replicas = 100;

struct run_options {
    std::vector<std::string> names;
    bool no_wait = false;
    std::optional<milliseconds> wait;
    std::string kind;
    bool shared = false;
    bool exclusive = false;
    bool fenced = false;
    std::optional<std::uint32_t> permits;
    std::optional<std::int64_t> of;
    std::optional<milliseconds> ttl;
    std::string on_loss = "term";
    std::optional<milliseconds> grace;
    std::optional<milliseconds> max_hold;
    std::optional<milliseconds> at_least;
    std::optional<std::uint32_t> replicas;
    std::optional<milliseconds> replicas_within;
    std::optional<int> conflict_code;
    std::string policy;
    std::string at_least_strength;
    std::optional<int> weak_code;
    std::optional<int> json_fd;
    std::optional<std::string> metrics_file;
    bool verbose = false;
};

on_loss policy_named(const std::string& name) {
    if (name == "kill") return on_loss::kill;
    if (name == "ignore") return on_loss::ignore;
    return on_loss::term;
}

constexpr std::array strengths{strength::host_local, strength::single, strength::quorum,
                               strength::fenced_quorum};

strength strength_named(const std::string& name) {
    for (const auto s : strengths)
        if (name == to_string(s)) return s;
    return strength::process_local;
}

kind kind_of(const run_options& given) {
    const auto is = [&](kind k) { return given.kind == option_name(k); };
    const bool has_permits = is(kind::semaphore) || is(kind::permit_semaphore);
    if (given.permits || given.of || has_permits) {
        if (!given.kind.empty() && !has_permits)
            throw usage_error("--permits and --of are for a semaphore, but --kind is " + given.kind);
        if (given.shared || given.exclusive || given.fenced)
            throw usage_error("-s, -x and --fenced are not for a semaphore");
        if (given.of && given.permits.value_or(1) > *given.of)
            throw usage_error(fmt::format("--permits {} is more than --of {}", *given.permits, *given.of));
        if (is(kind::permit_semaphore) && given.permits.value_or(1) > most_permits_with_ids)
            throw usage_error(
                fmt::format("--permits is at most {} for --kind permits", most_permits_with_ids));
        return is(kind::permit_semaphore) ? kind::permit_semaphore : kind::semaphore;
    }
    if (given.shared || given.exclusive) {
        if (!given.kind.empty() && !is(kind::shared_write))
            throw usage_error("-s and -x are for a shared lock, but --kind is " + given.kind);
        if (given.fenced) throw usage_error("--fenced is for a mutex: a shared lock gives no fence");
        return given.shared ? kind::shared_read : kind::shared_write;
    }
    if (is(kind::shared_write)) throw usage_error("--kind shared needs -s (to read) or -x (to write)");
    if (given.kind.empty() || is(kind::native)) return given.fenced ? kind::native_fenced : kind::native;
    if (is(kind::recursive_fenced)) return kind::recursive_fenced;
    if (given.fenced)
        throw usage_error("--fenced is for a mutex: --kind " + given.kind +
                          " gives no fence; --kind fenced does");
    return is(kind::fair) ? kind::fair : kind::recursive;
}

std::vector<std::string> names_of(std::span<const strength> all) {
    std::vector<std::string> names;
    for (const auto s : all) names.emplace_back(to_string(s));
    return names;
}

// Each name once, in the user's order. Throws if a name is invalid.
std::vector<std::string> names_of(const std::vector<std::string>& words) {
    std::vector<std::string> names;
    for (const auto& word : words) {
        auto name = plain(word);
        (void)lock_name{name};
        if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
    return names;
}

replication replicas_of(const run_options& given) {
    replication wanted;
    if (given.replicas_within && !given.replicas)
        throw usage_error("--replicas-within limits the wait for --replicas: give --replicas, too");
    if (given.replicas_within && *given.replicas_within < milliseconds{1})
        throw usage_error("--replicas-within must be at least 1ms");
    wanted.at_least = given.replicas.value_or(0);
    wanted.within = given.replicas_within.value_or(wanted.within);
    return wanted;
}

supervision rules_of(const run_options& given, const config& settings) {
    supervision rules;
    rules.policy = policy_named(given.on_loss);
    rules.max_hold = given.max_hold;
    rules.at_least = given.at_least.value_or(milliseconds{0});
    if (given.ttl && *given.ttl < milliseconds{1}) throw usage_error("--ttl must be at least 1ms");
    if (given.max_hold && given.max_hold->count() == 0) throw usage_error("--max-hold must be longer than 0");
    if (given.max_hold && rules.policy == on_loss::ignore) {
        throw usage_error("--max-hold ends the command, and --on-loss ignore lets it run: choose one");
    }
    if (given.max_hold && rules.at_least > *given.max_hold) {
        throw usage_error("--at-least is longer than --max-hold");
    }

    const auto ttl = given.ttl.value_or(settings.lease);
    const auto times = ending_times_for(ttl, settings);
    rules.margin = times.margin;
    if (times.longest_grace.count() < 0) {
        throw usage_error(
            fmt::format("a lease of {} is too short to end a command before another client can get the "
                        "lock; give a longer --ttl",
                        rough(ttl)));
    }
    if (given.grace && rules.policy != on_loss::term) {
        throw usage_error("--grace is the time between TERM and KILL: it is for --on-loss term only");
    }
    if (given.grace && *given.grace > times.longest_grace) {
        throw usage_error(fmt::format(
            "--grace {} does not fit a lease of {}: KILL must come before another client can get the "
            "lock; give at most {}, or a longer --ttl",
            rough(*given.grace), rough(ttl), rough(times.longest_grace)));
    }
    // Half of the longest grace: a renewal that fails once can be tried again before TERM is due.
    constexpr milliseconds usual = std::chrono::seconds{5};
    rules.grace = given.grace.value_or(std::min(usual, times.longest_grace / 2));
    if (rules.policy == on_loss::kill) rules.grace = milliseconds{0};
    return rules;
}

// A lock of this process excludes nobody from a command.
void check_policy(const std::string& chosen, const config& settings) {
    if (chosen.empty()) return;
    const auto found = std::ranges::find(settings.policies, chosen, &policy::name);
    if (found == settings.policies.end()) {
        std::string there_are;
        for (const auto& p : settings.policies)
            there_are += (there_are.empty() ? "\"" : ", \"") + p.name + '"';
        throw usage_error(fmt::format("the configuration has no policy \"{}\"; there {}",
                                      base::printable(chosen),
                                      there_are.empty() ? "are none (--config)" : "are " + there_are));
    }
    if (found->outage == on_outage::fail_open_process)
        throw usage_error(
            fmt::format("the policy {} fails open in the process, so it would run the command "
                        "without any lock; use one with outage = fail_open_host",
                        chosen));
}

// The others are for programs that share the configuration; so are those of processes, where a name matches.
void keep_policies_for(const std::vector<std::string>& names, const std::string& chosen, config& settings) {
    std::erase_if(settings.policies, [&](const policy& p) {
        const auto matches = [&](const std::string& name) {
            return !p.match.empty() && base::glob_match(p.match, name);
        };
        return p.outage == on_outage::fail_open_process ||
               (p.name != chosen && std::ranges::none_of(names, matches));
    });
}

// The command does not inherit this descriptor, unless it is a standard stream.
void reserve_json_fd(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
        throw usage_error(fmt::format("--json-fd {}: this descriptor is not open for writing", fd));
    }
    if (fd > STDERR_FILENO) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// As many as the client and the guard open together, and a few more.
std::size_t descriptors_needed_for(std::string_view url) {
    constexpr std::size_t for_one_server = 32, for_each_more = 4;
    return for_one_server + for_each_more * static_cast<std::size_t>(std::ranges::count(url, ','));
}

// Fails early, before the wait for the lock: otherwise the command could not be started after it.
void expect_enough_descriptors(std::string_view url) {
    const auto descriptors_needed = descriptors_needed_for(url);
    std::vector<unique_fd> tried;
    while (tried.size() < descriptors_needed) {
        tried.emplace_back(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
        if (!tried.back())
            throw std::system_error(
                errno, std::generic_category(),
                fmt::format("running a command under a lock needs {} descriptors", descriptors_needed));
    }
}

struct names_and_command {
    std::vector<std::string> names;
    std::vector<std::string> command;
};

// The names come before the first "--". If there are none, they come between the first and the second "--",
// and may begin with "-".
names_and_command words_of(const run_options& given, const context& shared) {
    names_and_command cut{given.names, shared.words_after_dashes};
    if (cut.names.empty()) {
        const auto dashes = std::ranges::find(cut.command, "--");
        if (dashes == cut.command.begin() || dashes == cut.command.end())
            throw usage_error(
                "no lock is named: write its name before \"--\", as in holdfast run NAME -- CMD ARG...");
        cut.names.assign(cut.command.begin(), dashes);
        cut.command.erase(cut.command.begin(), dashes + 1);
    }
    if (cut.command.empty()) {
        throw usage_error(
            "the command is missing: write it after \"--\", as in holdfast run NAME -- CMD ARG...");
    }
    return cut;
}

metrics_file metrics_file_for(const std::string& path, const std::vector<std::string>& names) {
    if (path.empty()) throw usage_error("--metrics-file needs the name of a file");
    try {
        return {path, names};
    } catch (const std::system_error& e) {
        throw usage_error(fmt::format("--metrics-file: {}", e.what()));
    }
}

int run_it(const run_options& given, const context& shared) {
    const auto [names, command] = words_of(given, shared);
    if (given.json_fd) reserve_json_fd(*given.json_fd);
    auto settings = shared.settings_with_policies();
    // All leases of this process have this --ttl, and a store may refuse a longer default lease.
    if (given.ttl)
        settings.lease = std::clamp(*given.ttl, milliseconds{10}, milliseconds{std::chrono::hours{24}});
    if (settings.url.starts_with("local:")) {
        throw usage_error(
            "the store local: exists in one process only, so its locks cannot protect a command; give the "
            "URL of a shared store, such as redis://127.0.0.1:6379 or file:/run/lock/app");
    }
    if (given.weak_code && given.at_least_strength.empty())
        throw usage_error("--weak-exit-code is for a lock weaker than --at-least-strength: give that, too");
    check_policy(given.policy, settings);
    if (!given.policy.empty() && has_permits(kind_of(given)))
        throw usage_error("--policy is not for a semaphore: no substitute knows how many permits are taken");
    keep_policies_for(names_of(names), given.policy, settings);
    expect_enough_descriptors(settings.url);
    run_request wanted;
    wanted.command = command;
    wanted.names = names_of(names);
    wanted.locks = {.names = wanted.names,
                    .kind = kind_of(given),
                    .ttl = given.ttl,
                    .wait = given.no_wait ? std::optional{milliseconds{0}} : given.wait,
                    .permits = given.permits.value_or(1),
                    .of = given.of,
                    .replicas = replicas_of(given),
                    .policy = given.policy,
                    .at_least = strength_named(given.at_least_strength)};
    wanted.rules = rules_of(given, settings);
    wanted.weak_code = given.weak_code;
    wanted.conflict_code = given.conflict_code.value_or(exit_code::conflict);
    wanted.json_fd = given.json_fd;
    if (given.metrics_file) wanted.metrics = metrics_file_for(*given.metrics_file, wanted.names);
    wanted.verbose = given.verbose;
    return run_under_lock(settings, wanted);
}

}  // namespace

void add_run(CLI::App& app, context& shared) {
    auto* const run = app.add_subcommand("run", "Run a command while holding one lock or several");
    auto given = std::make_shared<run_options>();
    run->fallthrough();
    run->footer(run_examples);
    run->formatter(std::make_shared<usage_with_command>());
    run->add_option("NAME", given->names, "The locks: all of them are acquired, or none");
    auto* const no_wait =
        run->add_flag("-n,--no-wait", given->no_wait, "Do not wait if another client holds the lock");
    add_duration(*run, "-w,--wait", given->wait, "Wait at most this long")->excludes(no_wait);
    run->add_option("--kind", given->kind,
                    "mutex (the default), recursive, fair, fenced, shared, semaphore or permits: Redisson's "
                    "RLock, RFairLock, RFencedLock, RReadWriteLock, RSemaphore, RPermitExpirableSemaphore")
        ->check(CLI::IsMember(names_of_held_kinds(option_name)))
        ->type_name("KIND");
    auto* const shared_side =
        run->add_flag("-s,--shared", given->shared, "Read: others may read as well (--kind shared)");
    run->add_flag("-x,--exclusive", given->exclusive, "Write: nobody else reads or writes (--kind shared)")
        ->excludes(shared_side);
    run->add_flag("--fenced", given->fenced, "Get a fence with the lock");
    add_number(*run, "--permits", given->permits, 1, most_permits,
               "Acquire N permits of a semaphore (default: 1)");
    add_number(*run, "--of", given->of, 1, largest_count,
               "Set the semaphore's number of permits to M if it is not set yet")
        ->type_name("M");
    add_duration(*run, "--ttl", given->ttl,
                 "How long the lock outlives a killed holdfast (default: the setting lease, 30s)");
    add_number(*run, "--replicas", given->replicas, 1, most_replicas,
               "Hold the lock only when N replicas of the server have it");
    add_duration(*run, "--replicas-within", given->replicas_within,
                 "How long to wait for the replicas (default: 50ms)");
    run->add_option("--on-loss", given->on_loss,
                    "If the lock is lost: term (TERM, then KILL; the default), kill, or ignore")
        ->check(CLI::IsMember({"term", "kill", "ignore"}))
        ->type_name("WHAT");
    add_duration(*run, "--grace", given->grace,
                 "Time between TERM and KILL (default: 5s, or less to fit the ttl)");
    add_duration(*run, "--max-hold", given->max_hold,
                 "End the command after this long, as if the lock was lost");
    add_duration(*run, "--at-least", given->at_least,
                 "Keep the lock this long even if the command ends sooner");
    add_number(*run, "-E,--conflict-exit-code", given->conflict_code, 0, 255,
               "Exit code if another client holds the lock (default 1)")
        ->type_name("CODE");
    run->add_option(
           "--policy", given->policy,
           "What to do while the store is away: a policy of the file of --config (default: the one that "
           "matches the name)")
        ->type_name("POLICY");
    run->add_option("--at-least-strength", given->at_least_strength,
                    "Refuse a lock that is weaker: host_local, single, quorum or fenced_quorum")
        ->check(CLI::IsMember(names_of(strengths)))
        ->type_name("STRENGTH");
    add_number(*run, "--weak-exit-code", given->weak_code, 0, 255,
               "Exit code if the lock would be weaker than --at-least-strength (default 69)")
        ->type_name("CODE");
    add_number(*run, "--json-fd", given->json_fd, 0, std::numeric_limits<int>::max(),
               "Write a line of JSON for each event to this descriptor");
    run->add_option("--metrics-file", given->metrics_file,
                    "Write how the run went, for the textfile collector of Prometheus's node_exporter")
        ->type_name("FILE");
    run->add_flag("-v,--verbose", given->verbose, "Report on stderr which holder it waits for, and more");
    run->callback([given, &shared] { shared.chosen = [given, &shared] { return run_it(*given, shared); }; });
}

}  // namespace holdfast::cli
