// holdfast doctor: what endangers locks on the servers, and how to mend it.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/doctor/examination_text.hpp"
#include "cli/output/error_output.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/format.hpp"
#include "cli/output/wrap.hpp"

#include "base/text.hpp"

#include <holdfast/admin.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {

namespace {

constexpr auto doctor_examples =
    R"(Checks version, persistence, eviction, memory, replicas, clocks, TLS and the user's rights (ACL) on every server of
the URL: the sentinels and replicas of redis+sentinel://, all servers of redis+cluster://, the members of redlock:. For each
finding, it says what it means for locks, how to mend it, and which promise falls without that: S1 (fences), S2 (one holder
at a time), S3 (waiters are served). It changes nothing on the servers.
With NAME it also checks the rights to that lock's keys and channels. Several --url are examined at the same time and
compared.

Exit code:
  0   all is well, or there are only notes
  1   warnings, or something that a promise rests on could not be checked
  2   dangers
  64  the command line or the configuration is wrong
  69  no server of a URL answers, or accepts the login
  74  the output cannot be written

Examples:
  holdfast doctor
  holdfast doctor stock:42 --kind fair
  holdfast doctor --url redis://db1 --url redis://db2 --url redis://db3
  holdfast doctor --url postgres://app@db1/shop --sql | psql -h db1 shop
  holdfast doctor --url mysql://app@db1/shop --sql | mariadb -h db1 shop
  holdfast doctor --json | jq -r ".findings[].mending"       print only how to mend)";

struct doctor_options {
    bool named = false;  // NAME was given, even if empty, which is an invalid name
    std::string name;
    std::string kind;
    bool json = false;
    bool quiet = false;
    bool sql = false;
};

// The URL's address, without user and password.
std::string place_of(const std::string& url) {
    const auto from = url.find("://");
    auto place = from == std::string::npos ? url : url.substr(from + 3);
    place = place.substr(0, place.find('?'));
    if (const auto user = place.rfind('@'); user != std::string::npos) place = place.substr(user + 1);
    return base::printable(place.empty() ? url.substr(0, from) : place);
}

finding not_examined(const std::string& url, const error& why) {
    if (store_of(url) == store_choice::files)
        return {"unreachable",
                severity::danger,
                place_of(url),
                full_message(why),
                "A store that cannot be opened grants no locks.",
                "Is the path right, and may this user read and write there?",
                promise::live};
    return {
        "unreachable",
        severity::danger,
        place_of(url),
        full_message(why),
        "A server that does not answer, or refuses the login, grants no locks.",
        "Is the server running, and are address, user, password and certificates (ca, server_name) right?",
        promise::live};
}

int examine_all(const doctor_options& given, const context& shared) {
    admin::examine_options wanted;
    if (given.named) wanted.name = lock_name{plain(given.name)};
    if (given.kind == option_name(kind::latch)) wanted.kind = kind::latch;
    for (const auto k : held_kinds)
        if (given.kind == option_name(k)) wanted.kind = k;
    // In parallel: a server that is slow or gone delays no other.
    struct target {
        std::unique_ptr<client> on;
        std::future<examination> found;
        std::string url;
    };
    std::vector<target> targets;
    for (const auto& settings : shared.settings_each()) {
        auto on = std::make_unique<client>(settings);
        auto found = std::async(std::launch::async, [&wanted, c = on.get()] { return examine(*c, wanted); });
        targets.push_back({std::move(on), std::move(found), settings.url});
    }
    std::vector<examination> all;
    bool unreachable = false;
    for (auto& one : targets) {
        try {
            all.push_back(one.found.get());
        } catch (const error& why) {
            // The URL does not name a store of locks.
            if (why.code() == errc::invalid_argument) throw usage_error(why.what());
            unreachable = true;
            all.push_back({{}, {not_examined(one.url, why)}});
            report_error(exit_code::unavailable,
                         fmt::format("{}: {}", place_of(one.url), all.back().findings[0].found));
        }
    }
    const auto found = together(std::move(all));
    if (given.json) {
        fmt::print("{}\n", one_line(to_json(found)));
    } else {
        fmt::print("{}", described(found, given.quiet ? detail::wrong_only : detail::all, terminal_width()));
    }
    if (unreachable) return exit_code::unavailable;
    switch (found.worst()) {
        case severity::ok:
        case severity::note: return exit_code::ok;
        case severity::unknown:
        case severity::warning: return exit_code::warnings;
        case severity::danger: return exit_code::dangers;
    }
    return exit_code::internal;
}

// For the operator of a database, who reads them, or passes them to psql.
int print_schema(const context& shared) {
    for (const auto& settings : shared.settings_each()) {
        std::string statements;
        try {
            statements = admin::schema(settings.url);
        } catch (const error& why) {
            throw usage_error(why.what());
        }
        if (statements.empty()) throw usage_error("--sql: " + place_of(settings.url) + " has no tables");
        fmt::print("{}", statements);
    }
    return exit_code::ok;
}

}  // namespace

void add_doctor(CLI::App& app, context& shared) {
    auto* const doctor = app.add_subcommand("doctor", "Find what endangers locks on the servers");
    auto given = std::make_shared<doctor_options>();
    auto kinds = names_of_held_kinds(option_name);
    kinds.emplace_back(option_name(kind::latch));
    doctor->fallthrough();
    doctor->footer(doctor_examples);
    auto* const name = doctor->add_option("NAME", given->name,
                                          "A lock: check the user's rights to its keys and channels, too");
    doctor->add_option("--kind", given->kind, "The kind of that lock (default: mutex)")
        ->check(CLI::IsMember(kinds))
        ->type_name("KIND");
    doctor->add_flag("--json", given->json, "Print a JSON object");
    doctor->add_flag("--sql", given->sql, "Print the SQL that makes the store's tables, and ask no server");
    doctor->add_flag("-q,--quiet", given->quiet, "Print only what needs attention");
    doctor->callback([=, &shared] {
        given->named = name->count() > 0;
        shared.chosen = [=, &shared] {
            return given->sql ? print_schema(shared) : examine_all(*given, shared);
        };
    });
}

}  // namespace holdfast::cli
