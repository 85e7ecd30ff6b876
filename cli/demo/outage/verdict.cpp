#include "cli/demo/outage/verdict.hpp"

#include "cli/demo/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace holdfast::cli::demo::outage {

namespace {

constexpr seconds least_outage{5};

bool is_back(const outage_round& round) {
    return !round.modes.empty() && round.modes.back().what.starts_with("level 1 is used");
}

}  // namespace

std::string_view name_of(scheme one) {
    switch (one) {
        case scheme::chain: return "the article's chain";
        case scheme::fail_closed: return "fail closed";
        case scheme::fail_open: return "fail open";
        case scheme::joint: return "joint";
    }
    return "";
}

std::int64_t wrong_sales(const outage_round& round, const outage_plan& what) {
    return std::abs(round.books.sold + round.books.left - what.stock);
}

int percent_in_outage(const outage_round& round) {
    if (round.due_in_outage == 0) return 0;
    return static_cast<int>(std::min<std::int64_t>(100 * round.served_in_outage / round.due_in_outage, 100));
}

std::string explained(const outage_round& round, const outage_plan& what) {
    const auto& c = round.counts;
    switch (round.how) {
        case scheme::chain:
            return fmt::format(
                "Redis is asked three times, and then a lock of the process is taken: its code does so also "
                "when Redis works and another one has the lock, here {} times. {} sales are wrong. (It waits "
                "5 ms here and 5 s in the article, whose work takes a thousand times as long.)",
                grouped(c.busy), grouped(wrong_sales(round, what)));
        case scheme::fail_closed:
            return fmt::format(
                "Without Redis nobody gets the lock: {} customers left, and every sale is right.",
                grouped(c.refused));
        case scheme::fail_open:
            return fmt::format(
                "{} requests were served without Redis, under a lock of their own process only. A version "
                "column in the database let one of those sell that had read the same: {} tried again, and "
                "every sale is right. Work without such a guard must not fail open.",
                grouped(c.weaker), grouped(c.retries));
        case scheme::joint:
            return fmt::format(
                "The services changed to a database by themselves{}, and excluded each other "
                "throughout. {} customers left while the group changed. (mode_lease=1s and healthy_for=2s "
                "here, so that this is short; the defaults are 20s and 60s.)",
                is_back(round) ? ", and back" : "", grouped(c.refused));
    }
    return {};
}

std::vector<std::string> deviations(const std::vector<outage_round>& rounds, const outage_plan& what) {
    std::vector<std::string> all;
    int closed = 100;
    for (const auto& one : rounds) {
        const auto wrong = wrong_sales(one, what);
        const auto name = name_of(one.how);
        if (one.how == scheme::chain && wrong == 0)
            all.push_back(fmt::format("\"{}\" sold nothing wrong: the requests hardly met", name));
        if (one.how != scheme::chain && wrong != 0)
            all.push_back(fmt::format("\"{}\" sold {} wrong", name, grouped(wrong)));
        // A change of the group takes longer than a short outage.
        if (one.back_at - one.killed_at < least_outage) continue;
        const auto served = percent_in_outage(one);
        if (one.how == scheme::fail_closed) closed = served;
        if ((one.how == scheme::fail_open || one.how == scheme::joint) && served <= closed)
            all.push_back(
                fmt::format("\"{}\" served {} % of the requests in the outage, no more than failing "
                            "closed: the machine was too slow",
                            name, served));
    }
    return all;
}

}  // namespace holdfast::cli::demo::outage
