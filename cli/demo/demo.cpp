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

#include <holdfast/admin.hpp>
#include <holdfast/client.hpp>
#include <holdfast/error.hpp>

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

namespace {

using namespace demo;

constexpr auto examples =
    R"(Needs only redis-server on PATH; with --on sqlite or --on file not even that. It touches no store of yours,
whatever --url and HOLDFAST_URL say, unless --on names one: there it uses two locks whose names begin with
"holdfast-demo:".

Exit code: 0 if rounds one and two went wrong and round three was exact, 1 if not, 69 without a store.

Examples:
  holdfast demo
  holdfast demo --on sqlite
  holdfast demo --kind recursive
  holdfast demo --requests 10000 --stock 6000 --json
  holdfast demo outage)";

struct wishes {
    plan what;
    std::string url{};  // with demo_store::given
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
                               {"on", place_of(what.on).substr(std::string_view{"in "}.size())},
                               {"rounds", nlohmann::ordered_json::array()}};
    for (const auto& round : rounds) out["rounds"].push_back(as_json(round, what));
    out["not_as_it_should_be"] = deviations(rounds, what);
    return out;
}

// Throws error if the store does not answer, before two rounds are played for nothing.
void expect_free(const std::string& url, const std::string& prefix) {
    client store{url};
    if (!admin::inspect(store, prefix + "stock:42").holders.empty())
        throw error(errc::timed_out, fmt::format("the locks \"{}...\" of the demo are held", prefix));
}

std::vector<round_result> all_results(const wishes& wanted, signal_inbox& signals, screen& view) {
    const plan& what = wanted.what;
    const scratch_folder folder{"holdfast-demo"};
    std::optional<scratch_server> server;
    std::string url = wanted.url, prefix;
    switch (what.on) {
        case demo_store::redis:
            url = server.emplace(folder, server_options{.signals = &signals}).url();
            break;
        case demo_store::sqlite: url = "sqlite:" + (folder.path() / "locks.db").string(); break;
        case demo_store::file: url = "file:" + (folder.path() / "locks").string(); break;
        case demo_store::given:
            prefix = fmt::format("holdfast-demo:{}:", ::getpid());
            expect_free(url, prefix);
            break;
    }
    view.introduce();
    std::vector<round_result> rounds;
    for (const auto guard : all_rounds) {
        rounds.push_back(run_round(guard, what,
                                   {.folder = folder.path(),
                                    .url = url,
                                    .prefix = prefix,
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
        rounds = all_results(wanted, signals, view);
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
    command->footer(examples);
    add_number_with_default(*command, "--requests", wanted->what.requests, 10'000'000,
                            "Requests in each round");
    add_number_with_default(*command, "--stock", wanted->what.stock, 10'000'000, "Items to sell");
    add_number_with_default(*command, "--processes", wanted->what.processes, 64, "Service processes");
    add_number_with_default(*command, "--threads", wanted->what.threads, 256, "Threads in each of them");
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
    const auto read_store = [wanted](const std::string& text) {
        wanted->what.on = text == "redis"    ? demo_store::redis
                          : text == "sqlite" ? demo_store::sqlite
                          : text == "file"   ? demo_store::file
                                             : demo_store::given;
        if (wanted->what.on != demo_store::given) return;
        if (text.find(':') == std::string::npos)
            throw CLI::ValidationError(
                "--on",
                fmt::format("\"{}\" is neither redis, sqlite nor file, nor a URL that --url takes, such as "
                            "postgres://user@host/database",
                            base::printable(text)));
        wanted->url = text;
    };
    command
        ->add_option_function<std::string>(
            "--on", read_store, "The store of round three: redis, sqlite, file, or the URL of yours")
        ->default_str("redis")
        ->type_name("STORE");
    command->add_flag("--json", wanted->json,
                      "Print one JSON object to stdout, and the progress to stderr if it is a terminal");
    command->add_flag("--serve", wanted->serve)->group("");  // the demo starts its services with it
    command->callback([=, &shared] {
        if (wanted->what.on == demo_store::file && wanted->what.kind == demo_kind::recursive)
            throw CLI::ValidationError("--kind",
                                       "there is no recursive lock in a lock file; use --on sqlite");
        if (!command->get_subcommands().empty()) return;
        shared.chosen = [=] { return wanted->serve ? serve() : show(*wanted); };
    });
}

}  // namespace holdfast::cli
