#include "cli/demo/outage/round.hpp"

#include "cli/demo/crew.hpp"
#include "cli/process/scratch_server.hpp"

#include <holdfast/types.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace holdfast::cli::demo::outage {

namespace {

using namespace std::chrono_literals;

constexpr auto progress_gap = 100ms;

std::string url_for(scheme how, const std::string& redis, const std::filesystem::path& folder) {
    if (how != scheme::joint) return redis;
    // These times are shorter than the defaults, so that the round is short.
    return fmt::format(
        "joint:mode_lease=1s,max_skew=100ms,down_for=500ms,healthy_for=2s,{}?longest_lease=2s,sqlite:{}",
        redis, (folder / "substitute.db").string());
}

}  // namespace

outage_round run_outage_round(scheme how, const outage_plan& what, const outage_surroundings& around) {
    const scratch_folder own{"holdfast-demo"};
    const auto books = own.path() / "books.db";
    ledger::create(books, what.stock);
    ledger reader{books};
    scratch_server redis{own, {.signals = &around.signals}};

    std::vector<std::string> jobs;
    for (int i = 0; i < what.processes; ++i)
        jobs.push_back(to_line(outage_job{.how = how,
                                          .process = i,
                                          .threads = what.threads,
                                          .requests = what.share_of(i),
                                          .rate = static_cast<double>(what.rate) / what.processes,
                                          .patience_ms = what.patience.count(),
                                          .books = books,
                                          .url = url_for(how, redis.url(), own.path())}));
    outage_round result{.how = how};
    std::vector<outage_counts> by_service(jobs.size());
    auto begun = boot_clock::now();
    crew services{
        around.signals,
        {"holdfast", "demo", "outage", "--serve"},
        jobs,
        [&](std::size_t of, std::string_view line) {
            constexpr std::string_view mode = "mode ";
            if (line.starts_with(mode))
                result.modes.push_back({boot_clock::now() - begun, std::string{line.substr(mode.size())}});
            else
                (void)read(line, by_service[of]);
        }};
    const auto counts = [&] {
        outage_counts all;
        for (const auto& one : by_service) all += one;
        return all;
    };
    around.on_progress({.how = how});
    services.wait_until_ready();
    result.modes.clear();
    begun = boot_clock::now();
    services.go();

    enum class redis_state { before, killed, back } redis_is = redis_state::before;
    auto next_sample = begun + outage_round::sample;
    auto next_progress = begun;
    std::int64_t sampled = 0;
    outage_counts at_kill;
    while (!services.ended()) {
        services.listen(std::min<std::chrono::milliseconds>(progress_gap, outage_round::sample) / 4);
        const auto now = boot_clock::now();
        const seconds since = now - begun;
        const auto all = counts();
        if (redis_is == redis_state::before && since >= what.length() * what.killed_at) {
            redis.kill();
            redis_is = redis_state::killed;
            result.killed_at = since;
            at_kill = all;
        } else if (redis_is == redis_state::killed && since >= what.length() * what.back_at) {
            result.served_in_outage = all.served - at_kill.served;
            result.due_in_outage =
                std::llround((since - result.killed_at).count() * static_cast<double>(what.rate));
            redis.restart();
            redis_is = redis_state::back;
            result.back_at = since;
        }
        for (; now >= next_sample; next_sample += outage_round::sample)
            result.served.push_back(all.served - std::exchange(sampled, all.served));
        if (now >= next_progress) {
            next_progress = now + progress_gap;
            around.on_progress({how, all, since, redis_is != redis_state::killed});
        }
    }
    result.took = boot_clock::now() - begun;
    result.counts = counts();
    result.served.push_back(result.counts.served - sampled);
    result.books = reader.sum_up();
    return result;
}

}  // namespace holdfast::cli::demo::outage
