// ./dev bench: what a lock costs, beside the least it can cost, or beside other libraries.
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
        "take turns, results are ratios to the first."};
    app.add_option("against", against, "floors, or peers: Redisson, redis-py, redsync, node-redlock, Curator")
        ->check(CLI::IsMember({"floors", "peers"}))
        ->capture_default_str();
    app.add_option("--row", how.rows, "only these rows (see --list)");
    app.add_option("--rounds", how.rounds, "turns of each side")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--span", span, "length of a turn, in ms")
        ->check(CLI::Range(10, 60'000))
        ->capture_default_str();
    app.add_option("--placement", how.where,
                   "where server and clients run: anywhere, split (different CPUs) or same (one CPU); "
                   "by default as the row sets it")
        ->check(CLI::IsMember({"anywhere", "split", "same"}));
    app.add_flag("--json", how.json, "print JSON");
    app.add_flag("--list", list, "list the rows");
    CLI11_PARSE(app, argc, argv);
    how.span = milliseconds{span};
    if (against == "peers") how.plans = &peer_rows();
    if (list) {
        for (const auto& plan : *how.plans) std::printf("%-24s %s\n", plan.name.c_str(), plan.title.c_str());
        return 0;
    }
    try {
        return run_rows(how);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench: %s\n", e.what());
        return 70;
    }
}
