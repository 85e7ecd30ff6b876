#include "cli/demo/outage/screen.hpp"

#include "cli/demo/outage/verdict.hpp"
#include "cli/demo/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace holdfast::cli::demo::outage {

namespace {

constexpr double plain_pause = 5;  // seconds between two lines without a terminal
constexpr std::size_t margin = 9;
constexpr std::size_t widest = 72;

}  // namespace

screen::screen(std::FILE* to, const outage_plan& what, bool quiet) : page_(to, quiet), what_(what) {}

void screen::introduce() {
    page_.put(
        page_.painted(
            page_.wrapped(fmt::format("A shop has {} items in stock and gets {} requests, {} per "
                                      "second. In the middle its Redis is killed.",
                                      grouped(what_.stock), grouped(what_.requests), grouped(what_.rate)),
                          0),
            colour::strong) +
        "\n\n" +
        page_.wrapped(
            fmt::format(
                "{} services with {} threads each take one lock for each sale. A customer who has no "
                "answer after {} ms leaves. Redis is away from {:.1f} s to {:.1f} s. All this is done "
                "in four ways: with the chain of fall-backs from the article, with a lock that fails "
                "closed, with one that fails open beside a version column, and with a joint store "
                "that changes to an SQLite file by itself.",
                what_.processes, what_.threads, what_.patience.count(),
                (what_.length() * what_.killed_at).count(), (what_.length() * what_.back_at).count()),
            0) +
        "\n\n");
}

std::string screen::heading(scheme how) {
    return fmt::format("{}/{}  {:<19}", static_cast<int>(how) + 1, all_schemes.size(), name_of(how));
}

void screen::show(const outage_progress& now) {
    const auto since = now.since_start.count();
    const auto text =
        fmt::format("{}  {:>4.1f} s  {:>8} served  {:>7} refused  Redis is {}", heading(now.how), since,
                    grouped(now.counts.served), grouped(now.counts.refused), now.redis_is_up ? "up" : "away");
    if (page_.terminal()) {
        page_.put("\r" + text + "\x1b[K");
        line_open_ = true;
    } else if (since - plain_written_at_ >= plain_pause) {
        plain_written_at_ = since;
        page_.put(text + "\n");
    }
}

void screen::clear_line() {
    if (line_open_) page_.put("\r\x1b[K");
    line_open_ = false;
}

// Requests served over time, in columns of one width for all rounds, and where Redis was away.
std::string screen::timeline(const outage_round& round) const {
    constexpr std::array<std::string_view, 9> steps{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const auto columns = std::min({widest, page_.width() - margin - 2, round.served.size()});
    std::string bars, away;
    for (std::size_t i = 0; i < columns; ++i) {
        const auto from = i * round.served.size() / columns;
        const auto to = std::max((i + 1) * round.served.size() / columns, from + 1);
        std::int64_t sum = 0;
        for (auto k = from; k < to; ++k) sum += round.served[k];
        const seconds span = outage_round::sample * static_cast<double>(to - from);
        const auto share = static_cast<double>(sum) / (span.count() * static_cast<double>(what_.rate));
        const auto step = sum == 0 ? 0 : std::clamp(static_cast<int>(std::lround(share * 8)), 1, 8);
        bars += page_.unicode() ? std::string{steps.at(static_cast<std::size_t>(step))}
                                : std::string(1, step == 0 ? ' ' : static_cast<char>('0' + step));
        const seconds middle = outage_round::sample * (static_cast<double>(from + to) / 2);
        away += middle >= round.killed_at && middle < round.back_at ? 'x' : ' ';
    }
    while (away.ends_with(' ')) away.pop_back();
    return fmt::format("  served  {}\n   Redis  {}\n", page_.painted(bars, colour::faint),
                       page_.painted(away, colour::bad));
}

std::string screen::modes(const outage_round& round) const {
    std::string all;
    for (const auto& one : round.modes) {
        const auto what = one.what.substr(0, one.what.find(", says"));
        all += fmt::format("{:>6.1f} s  {}\n", one.at.count(), what);
    }
    return all;
}

void screen::conclude(const outage_round& round) {
    clear_line();
    plain_written_at_ = 0;
    const auto wrong = wrong_sales(round, what_);
    const auto finding = wrong == 0 ? page_.painted("every sale is right", colour::good)
                                    : page_.painted(grouped(wrong) + " sales are wrong", colour::bad);
    page_.put(fmt::format("{}  {:>4.1f} s  {:>8} served  {:>7} refused  {}\n{}{}\n", heading(round.how),
                          round.took.count(), grouped(round.counts.served), grouped(round.counts.refused),
                          finding, timeline(round), modes(round)));
}

void screen::sum_up(const std::vector<outage_round>& rounds) {
    constexpr auto row = "{:<24}{:>9}{:>9}{:>9}{:>10}{:>12}\n";
    page_.put(page_.painted(fmt::format(row, "", "", "", "wrong", "customers", "served in"), colour::faint) +
              page_.painted(fmt::format(row, "round", "sold", "left", "sales", "gone", "the outage"),
                            colour::faint));
    for (const auto& one : rounds) {
        const auto wrong = wrong_sales(one, what_);
        page_.put(fmt::format(
            "{:<24}{:>9}{:>9}{}{:>10}{:>10} %\n",
            fmt::format("{}  {}", static_cast<int>(one.how) + 1, name_of(one.how)), grouped(one.books.sold),
            grouped(one.books.left),
            page_.painted(fmt::format("{:>9}", grouped(wrong)), wrong == 0 ? colour::good : colour::bad),
            grouped(one.counts.refused), percent_in_outage(one)));
    }
    page_.put("\n");
    for (const auto& one : rounds)
        page_.put(page_.painted(std::to_string(static_cast<int>(one.how) + 1),
                                wrong_sales(one, what_) == 0 ? colour::good : colour::bad) +
                  "  " + page_.wrapped(explained(one, what_), 3) + "\n");
}

}  // namespace holdfast::cli::demo::outage
