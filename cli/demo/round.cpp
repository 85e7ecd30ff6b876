#include "cli/demo/round.hpp"

#include "cli/demo/crew.hpp"
#include "cli/demo/service.hpp"

#include <holdfast/types.hpp>

#include <fmt/format.h>

#include <charconv>
#include <numeric>
#include <string_view>
#include <vector>

namespace holdfast::cli::demo {

namespace {

using namespace std::chrono_literals;

constexpr auto progress_gap = 100ms;

}  // namespace

round_result run_round(protection guard, const plan& what, const surroundings& around) {
    const auto books = around.folder / fmt::format("round{}.db", static_cast<int>(guard) + 1);
    ledger::create(books, what.stock);
    ledger reader{books};

    around.on_progress({.guard = guard});
    std::vector<std::string> jobs;
    for (int i = 0; i < what.processes; ++i)
        jobs.push_back(to_line({.guard = guard,
                                .kind = what.kind,
                                .process = i,
                                .threads = what.threads,
                                .requests = what.share_of(i),
                                .books = books,
                                .url = around.url,
                                .prefix = around.prefix}));
    std::vector<std::int64_t> answered_by(jobs.size());
    crew services{
        around.signals, {"holdfast", "demo", "--serve"}, jobs, [&](std::size_t of, std::string_view line) {
            std::from_chars(line.data(), line.data() + line.size(), answered_by[of]);
        }};
    const auto answered = [&] {
        return std::accumulate(answered_by.begin(), answered_by.end(), std::int64_t{0});
    };
    services.wait_until_ready();
    const auto begun = boot_clock::now();
    auto reported_at = begun;
    services.go();
    while (answered() < what.requests) {
        services.listen(progress_gap);
        if (const auto now = boot_clock::now(); now - reported_at >= progress_gap) {
            reported_at = now;
            around.on_progress({guard, answered(), reader.sales_so_far(), now - begun});
        }
    }
    const auto took = boot_clock::now() - begun;
    services.wait_for_the_end();
    return {guard, reader.sum_up(), took};
}

}  // namespace holdfast::cli::demo
