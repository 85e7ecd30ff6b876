// holdfast demo outage: what four ways through an outage of Redis cost, in numbers.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/demo/outage/screen.hpp"
#include "cli/demo/outage/service.hpp"
#include "cli/demo/outage/verdict.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/process/interrupted.hpp"
#include "cli/process/scratch_server.hpp"
#include "cli/process/signals.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::cli {

namespace demo::outage {

namespace {

constexpr auto outage_examples =
    R"(Needs redis-server on PATH, and touches no store of yours, whatever --url and HOLDFAST_URL say. Takes a minute and a half.

Exit code: 0 if the chain of the article sold what was not there and the other three rounds were exact, 1 if not, 69
without redis-server.

Examples:
  holdfast demo outage
  holdfast demo outage --requests 40000 --stock 25000 --json)";

struct outage_wishes {
    outage_plan what;
    bool json = false;
    bool serve = false;
};

double rounded(seconds s) { return std::round(s.count() * 1000) / 1000; }

nlohmann::ordered_json as_json(const outage_round& round, const outage_plan& what) {
    nlohmann::ordered_json out{{"round", static_cast<int>(round.how) + 1},
                               {"scheme", name_of(round.how)},
                               {"sold", round.books.sold},
                               {"stock_left", round.books.left},
                               {"wrong_sales", wrong_sales(round, what)},
                               {"served", round.counts.served},
                               {"refused", round.counts.refused},
                               {"served_without_the_store", round.counts.weaker},
                               {"of_them_while_redis_was_busy", round.counts.busy},
                               {"retries", round.counts.retries},
                               {"killed_at_s", rounded(round.killed_at)},
                               {"back_at_s", rounded(round.back_at)},
                               {"due_in_outage", round.due_in_outage},
                               {"served_in_outage", round.served_in_outage},
                               {"seconds", rounded(round.took)},
                               {"served_per_250_ms", round.served},
                               {"modes", nlohmann::ordered_json::array()},
                               {"explanation", explained(round, what)}};
    for (const auto& one : round.modes)
        out["modes"].push_back({{"at_s", rounded(one.at)}, {"mode", one.what}});
    return out;
}

nlohmann::ordered_json as_json(const std::vector<outage_round>& rounds, const outage_plan& what) {
    nlohmann::ordered_json out{{"requests", what.requests},
                               {"stock", what.stock},
                               {"rate", what.rate},
                               {"processes", what.processes},
                               {"threads", what.threads},
                               {"patience_ms", what.patience.count()},
                               {"rounds", nlohmann::ordered_json::array()}};
    for (const auto& one : rounds) out["rounds"].push_back(as_json(one, what));
    out["not_as_it_should_be"] = deviations(rounds, what);
    return out;
}

int show(const outage_wishes& wanted) {
    // The main thread starts the demo's processes, and there is no other thread.
    signal_inbox signals;
    screen view{wanted.json ? stderr : stdout, wanted.what, wanted.json && ::isatty(STDERR_FILENO) != 1};
    std::vector<outage_round> rounds;
    try {
        view.introduce();
        for (const auto how : all_schemes) {
            rounds.push_back(run_outage_round(
                how, wanted.what,
                {.signals = signals, .on_progress = [&](const outage_progress& now) { view.show(now); }}));
            view.conclude(rounds.back());
        }
    } catch (const interrupted& by) {
        view.clear_line();
        fmt::print(stderr,
                   "holdfast: interrupted; the processes of the demo are ended and its files removed\n");
        return exit_code::by_signal(by.signal);
    } catch (const no_server& why) {
        view.clear_line();
        fmt::print(stderr, "holdfast: {}\n", why.what());
        return exit_code::unavailable;
    } catch (...) {
        view.clear_line();
        throw;
    }
    view.sum_up(rounds);
    if (wanted.json) fmt::print("{}\n", as_json(rounds, wanted.what).dump());
    const auto wrong = deviations(rounds, wanted.what);
    for (const auto& sentence : wrong) fmt::print(stderr, "holdfast: {}\n", sentence);
    return wrong.empty() ? exit_code::ok : 1;
}

}  // namespace

}  // namespace demo::outage

void add_demo_outage(CLI::App& app, context& shared) {
    using namespace demo::outage;
    auto* const command = app.get_subcommand("demo")->add_subcommand(
        "outage", "Show what four ways through an outage of Redis cost");
    auto wanted = std::make_shared<outage_wishes>();
    command->footer(outage_examples);
    add_number_with_default(*command, "--requests", wanted->what.requests, 10'000'000,
                            "Requests in each round");
    add_number_with_default(*command, "--stock", wanted->what.stock, 10'000'000, "Items to sell");
    add_number_with_default(*command, "--rate", wanted->what.rate, 1'000'000, "Requests per second");
    add_number_with_default(*command, "--processes", wanted->what.processes, 64, "Service processes");
    add_number_with_default(*command, "--threads", wanted->what.threads, 256, "Threads in each of them");
    command->add_flag("--json", wanted->json,
                      "Print one JSON object to stdout, and the progress to stderr if it is a terminal");
    command->add_flag("--serve", wanted->serve)->group("");  // the demo starts its services with it
    command->callback(
        [=, &shared] { shared.chosen = [=] { return wanted->serve ? serve_outage() : show(*wanted); }; });
}

}  // namespace holdfast::cli
