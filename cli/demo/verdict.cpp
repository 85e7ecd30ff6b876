#include "cli/demo/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::cli::demo {

namespace {

std::int64_t to_be_sold(const plan& what) { return std::min(what.requests, what.stock); }

std::string counted(std::int64_t n, const char* one, const char* many) {
    return fmt::format("{} {}", grouped(n), n == 1 ? one : many);
}

// The damage, in the terms of the shop.
std::string damage(const round_result& round, const plan& what) {
    const auto too_many = oversold(round, what);
    const auto lost = lost_updates(round, what);
    if (too_many > 0) {
        return fmt::format("{} sold that never existed, and {} left no trace in the stock",
                           counted(too_many, "item was", "items were"), counted(lost, "sale", "sales"));
    }
    if (lost > 0) return fmt::format("{} left no trace in the stock", counted(lost, "sale", "sales"));
    return "By luck nothing was sold twice this time";
}

std::string rebuilt(const round_result& round) {
    return round.books.rebuilds == 1 ? "once" : fmt::format("{} times", grouped(round.books.rebuilds));
}

}  // namespace

std::string name_of(protection guard, demo_kind kind) {
    switch (guard) {
        case protection::none: return "no lock";
        case protection::process: return "std::mutex";
        case protection::store: return kind == demo_kind::mutex ? "holdfast::mutex" : "recursive_mutex";
    }
    return {};
}

std::string_view place_of(demo_store on) {
    switch (on) {
        case demo_store::redis: return "in Redis";
        case demo_store::sqlite: return "in an SQLite file";
        case demo_store::file: return "in a lock file";
        case demo_store::given: break;
    }
    return "in the store";
}

std::int64_t oversold(const round_result& round, const plan& what) {
    return std::max<std::int64_t>(round.books.sold - what.stock, 0);
}

std::int64_t lost_updates(const round_result& round, const plan& what) {
    return round.books.sold - (what.stock - round.books.left);
}

bool went_wrong(const round_result& round, const plan& what) {
    return oversold(round, what) > 0 || lost_updates(round, what) > 0;
}

bool exact(const round_result& round, const plan& what) {
    const auto& books = round.books;
    return books.answered == what.requests && books.sold == to_be_sold(what) &&
           books.refused == what.requests - books.sold && lost_updates(round, what) == 0 &&
           books.rebuilds == 1;
}

std::string explained(const round_result& round, const plan& what) {
    switch (round.guard) {
        case protection::none:
            return fmt::format(
                "{}: requests read the same number of items, and each wrote back that number less one. "
                "The cold cache entry was rebuilt {}, by every request that came before the first was done.",
                damage(round, what), rebuilt(round));
        case protection::process:
            return fmt::format(
                "{}: a std::mutex lets one thread of its process through, but there are {} processes, and "
                "each has a "
                "mutex of its own. So each of them rebuilt the cache entry as well: {} in all.",
                damage(round, what), what.processes, rebuilt(round));
        case protection::store:
            if (!exact(round, what)) {
                return fmt::format(
                    "This must not happen: {} sold of {}, {} refused, {} lost, the cache rebuilt {}. Please "
                    "report it.",
                    grouped(round.books.sold), grouped(to_be_sold(what)), grouped(round.books.refused),
                    counted(lost_updates(round, what), "update", "updates"), rebuilt(round));
            }
            return fmt::format(
                "Exact: one lock {} for all threads of all processes. {} sold, the other {} refused, and one "
                "request rebuilt the cache entry while the rest waited for it.",
                place_of(what.on), counted(round.books.sold, "item was", "items were"),
                counted(round.books.refused, "request was", "requests were"));
    }
    return {};
}

std::vector<std::string> deviations(const std::vector<round_result>& rounds, const plan& what) {
    std::vector<std::string> found;
    for (const auto& round : rounds) {
        const auto name =
            fmt::format("round {} ({})", static_cast<int>(round.guard) + 1, name_of(round.guard, what.kind));
        switch (round.guard) {
            case protection::none:
                if (!went_wrong(round, what))
                    found.push_back(name + " should have gone wrong and did not: too few requests at once");
                break;
            case protection::process:
                if (went_wrong(round, what)) break;
                found.push_back(name +
                                (what.processes == 1
                                     ? " did not go wrong: with one process a local lock is enough"
                                     : " should have gone wrong and did not: too few requests at once"));
                break;
            case protection::store:
                if (!exact(round, what)) found.push_back(name + " should have been exact and was not");
                break;
        }
    }
    return found;
}

std::string grouped(std::int64_t n) {
    auto digits = std::to_string(n);
    const std::size_t first = n < 0 ? 1 : 0;
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > static_cast<std::ptrdiff_t>(first);
         at -= 3) {
        digits.insert(static_cast<std::size_t>(at), 1, ',');
    }
    return digits;
}

}  // namespace holdfast::cli::demo
