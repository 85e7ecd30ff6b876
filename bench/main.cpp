// ./dev bench: what a lock costs, beside what it must cost at least, or beside what others take.
#include "harness.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
    using namespace holdfast::bench;
    run_options how;
    int span = static_cast<int>(how.span.count());
    bool list = false;
    std::string against = "floors";
    CLI::App app{
        "Measures holdfast against the floor, or against the lock libraries of other languages: the sides "
        "take "
        "turns, results are ratios to the first."};
    app.add_option("against", against, "floors, or peers: Redisson, redis-py, redsync, node-redlock")
        ->check(CLI::IsMember({"floors", "peers"}))
        ->capture_default_str();
    app.add_option("--row", how.rows, "only these rows (see --list)");
    app.add_option("--rounds", how.rounds, "how often each side has its turn")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--span", span, "how long a turn takes, in ms")
        ->check(CLI::Range(10, 60'000))
        ->capture_default_str();
    app.add_option("--placement", how.where,
                   "where server and clients run: anywhere, split (different CPUs) or same (one CPU); "
                   "by default what suits the row")
        ->check(CLI::IsMember({"anywhere", "split", "same"}));
    app.add_flag("--json", how.json, "for machines");
    app.add_flag("--list", list, "the rows");
    CLI11_PARSE(app, argc, argv);
    how.span = milliseconds{span};
    if (against == "peers") how.plans = &peer_rows();
    if (list) {
        for (const auto& plan : *how.plans) std::printf("%-14s %s\n", plan.name.c_str(), plan.title.c_str());
        return 0;
    }
    try {
        return run_rows(how);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench: %s\n", e.what());
        return 70;
    }
}
