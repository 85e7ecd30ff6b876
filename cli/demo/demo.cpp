// holdfast demo: why a lock inside the process is not enough, in numbers.
#include "cli/demo/plan.hpp"
#include "cli/demo/round.hpp"
#include "cli/demo/screen.hpp"
#include "cli/demo/service.hpp"
#include "cli/demo/verdict.hpp"
#include "cli/process/interrupted.hpp"
#include "cli/process/scratch_server.hpp"

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/process/signals.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace holdfast::cli {

namespace {

using namespace demo;

constexpr auto examples =
    R"(Needs only redis-server on PATH. It never touches a Redis of yours: it ignores --url and HOLDFAST_URL.

Exit code: 0 if rounds one and two went wrong and round three was exact, 1 if not, 69 without a redis-server.

Examples:
  holdfast demo
  holdfast demo --kind recursive
  holdfast demo --requests 10000 --stock 6000 --json)";

struct wishes {
    plan what;
    bool json = false;
    bool serve = false;
};

nlohmann::ordered_json as_json(const round_result& round, const plan& what) {
    const auto& books = round.books;
    const bool waits = round.guard != protection::none;
    return {
        {"round", static_cast<int>(round.guard) + 1},
        {"lock", name_of(round.guard, what.kind)},
        {"answered", books.answered},
        {"sold", books.sold},
        {"refused", books.refused},
        {"stock_left", books.left},
        {"oversold", oversold(round, what)},
        {"lost_updates", lost_updates(round, what)},
        {"rebuilds", books.rebuilds},
        {"seconds", std::round(round.took.count() * 1000) / 1000},
        {"requests_per_second", std::llround(round.requests_per_second())},
        {"wait_p50_us", waits ? nlohmann::ordered_json(books.wait_p50_us) : nlohmann::ordered_json(nullptr)},
        {"wait_p99_us", waits ? nlohmann::ordered_json(books.wait_p99_us) : nlohmann::ordered_json(nullptr)},
        {"exact", exact(round, what)},
        {"explanation", explained(round, what)}};
}

nlohmann::ordered_json as_json(const std::vector<round_result>& rounds, const plan& what) {
    nlohmann::ordered_json out{{"requests", what.requests},
                               {"stock", what.stock},
                               {"processes", what.processes},
                               {"threads", what.threads},
                               {"kind", what.kind == demo_kind::mutex ? "mutex" : "recursive"},
                               {"rounds", nlohmann::ordered_json::array()}};
    for (const auto& round : rounds) out["rounds"].push_back(as_json(round, what));
    out["not_as_it_should_be"] = deviations(rounds, what);
    return out;
}

std::vector<round_result> all_results(const plan& what, signal_inbox& signals, screen& view) {
    const scratch_folder folder{"holdfast-demo"};
    const scratch_server server{folder, {.signals = &signals}};
    view.introduce();
    std::vector<round_result> rounds;
    for (const auto guard : all_rounds) {
        rounds.push_back(run_round(guard, what,
                                   {.folder = folder.path(),
                                    .url = server.url(),
                                    .signals = signals,
                                    .on_progress = [&](const progress& now) { view.show(now); }}));
        view.conclude(rounds.back());
    }
    return rounds;
}

int show(const wishes& wanted) {
    // The main thread starts the demo's processes, and there is no other thread.
    signal_inbox signals;
    std::FILE* const people = wanted.json ? stderr : stdout;
    screen view{people, wanted.what, wanted.json && ::isatty(STDERR_FILENO) != 1};
    std::vector<round_result> rounds;
    try {
        rounds = all_results(wanted.what, signals, view);
    } catch (const interrupted& by) {
        view.clear_line();
        fmt::print(stderr,
                   "holdfast: interrupted; the processes of the demo are ended and its files removed\n");
        return exit_code::by_signal(by.signal);
    } catch (const no_server& why) {
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

void add_demo(CLI::App& app, context& shared) {
    auto* const command =
        app.add_subcommand("demo", "Show in numbers why services need a lock that they share");
    auto wanted = std::make_shared<wishes>();
    const auto number = [&](const char* flag, auto& value, auto most, const char* description) {
        using number_type = std::remove_reference_t<decltype(value)>;
        const auto read = [wanted, &value, flag, most](const std::string& text) {
            value = static_cast<number_type>(decimal(flag, text, 1, most));
        };
        command->add_option_function<std::string>(flag, read, description)
            ->default_str(std::to_string(value))
            ->type_name("N");
    };
    command->footer(examples);
    number("--requests", wanted->what.requests, 10'000'000, "Requests in each round");
    number("--stock", wanted->what.stock, 10'000'000, "Items to sell");
    number("--processes", wanted->what.processes, 64, "Service processes");
    number("--threads", wanted->what.threads, 256, "Threads in each of them");
    const auto read_kind = [wanted](const std::string& text) {
        if (text != "mutex" && text != "recursive") {
            throw CLI::ValidationError(
                "--kind", fmt::format("\"{}\" is neither mutex nor recursive", base::printable(text)));
        }
        wanted->what.kind = text == "mutex" ? demo_kind::mutex : demo_kind::recursive;
    };
    command
        ->add_option_function<std::string>("--kind", read_kind, "The lock of round three: mutex or recursive")
        ->default_str("mutex")
        ->type_name("KIND:{mutex,recursive}");
    command->add_flag("--json", wanted->json,
                      "Print one JSON object to stdout, and the progress to stderr if it is a terminal");
    command->add_flag("--serve", wanted->serve)->group("");  // the demo starts its services with it
    command->callback(
        [=, &shared] { shared.chosen = [=] { return wanted->serve ? serve() : show(*wanted); }; });
}

}  // namespace holdfast::cli
