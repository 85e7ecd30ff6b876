#include "cli/demo/screen.hpp"

#include "cli/demo/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace holdfast::cli::demo {

namespace {

// Without a terminal: one line per this many seconds.
constexpr double plain_gap = 5;
constexpr int bar_width = 14;

// "840 us", "5.1 ms", "1.2 s".
std::string waited(std::int64_t us) {
    if (us == 0) return "<1 us";
    if (us < 1000) return fmt::format("{} us", us);
    const auto ms = static_cast<double>(us) / 1000;
    if (ms < 9.95) return fmt::format("{:.1f} ms", ms);
    if (ms < 999.5) return fmt::format("{:.0f} ms", ms);
    return fmt::format("{:.1f} s", ms / 1000);
}

std::int64_t whole(double n) { return std::llround(n); }

}  // namespace

screen::screen(std::FILE* to, const plan& what, bool quiet) : page_(to, quiet), what_(what) {}

void screen::put(const std::string& text) { page_.put(text); }

std::string screen::painted(const std::string& text, colour in) const { return page_.painted(text, in); }

std::string screen::wrapped(const std::string& text, std::size_t indent) const {
    return page_.wrapped(text, indent);
}

colour screen::colour_of(const round_result& round) const {
    if (round.guard == protection::store) return exact(round, what_) ? colour::good : colour::bad;
    return went_wrong(round, what_) ? colour::bad : colour::none;
}

std::string_view screen::where(demo_store on) {
    switch (on) {
        case demo_store::redis: return "in a redis-server that was started for this and ends with it";
        case demo_store::sqlite: return "in an SQLite file that was made for this and is removed with it";
        case demo_store::file: return "in a lock file that was made for this and is removed with it";
        case demo_store::given: break;
    }
    return "in the store that you named";
}

void screen::introduce() {
    const auto will_be_sold = std::min(what_.requests, what_.stock);
    put(painted(wrapped(fmt::format("A shop has {} items in stock and gets {} requests for one each.",
                                    grouped(what_.stock), grouped(what_.requests)),
                        0),
                colour::strong) +
        "\n\n" +
        wrapped(
            fmt::format(
                "{} processes with {} threads each answer them. A request reads the stock from a database; "
                "if "
                "anything is left it writes back one less and records the sale. It also needs a price from a "
                "cache that is cold at first and slow to fill. All this is done three times: without a lock, "
                "with a std::mutex in each process, and with one {} for all of them, {}.",
                what_.processes, what_.threads, name_of(protection::store, what_.kind), where(what_.on)),
            0) +
        "\n\n" +
        wrapped(fmt::format("Right would be: {} sold, {} refused, the cache filled once.",
                            grouped(will_be_sold), grouped(what_.requests - will_be_sold)),
                0) +
        "\n\n");
}

std::string screen::heading(protection guard) const {
    return fmt::format("{}/{}  {:<15}", static_cast<int>(guard) + 1, all_rounds.size(),
                       name_of(guard, what_.kind));
}

std::string screen::bar(double share) const {
    const auto full = static_cast<int>(std::clamp(share, 0.0, 1.0) * bar_width);
    std::string done;
    std::string left;
    for (int i = 0; i < bar_width; ++i)
        (i < full ? done : left) += page_.unicode() ? "\u2501" : (i < full ? "#" : ".");
    if (page_.unicode() && !page_.colours()) {
        left.clear();
        for (int i = full; i < bar_width; ++i) left += "\u2500";
    }
    return done + painted(left, colour::faint);
}

void screen::show(const progress& now) {
    const auto seconds = now.since_start.count();
    const auto share = static_cast<double>(now.answered) / static_cast<double>(what_.requests);
    const auto rate = whole(static_cast<double>(now.answered) / std::max(seconds, 0.001));
    if (page_.terminal()) {
        const auto counts = fmt::format("{:>8} done  {:>7}/s  {:>8} sold", grouped(now.answered),
                                        grouped(rate), grouped(now.sold));
        const bool fits = 22 + bar_width + 2 + counts.size() < page_.width();
        put("\r" + heading(now.guard) + "  " + (fits ? bar(share) + "  " : "") + counts + "\x1b[K");
        line_open_ = true;
    } else if (seconds - plain_written_at_ >= plain_gap) {
        plain_written_at_ = seconds;
        put(fmt::format("{}  {} of {} requests done, {}/s, {} sold\n", heading(now.guard),
                        grouped(now.answered), grouped(what_.requests), grouped(rate), grouped(now.sold)));
    }
}

void screen::conclude(const round_result& round) {
    clear_line();
    plain_written_at_ = 0;
    const auto too_many = oversold(round, what_);
    const auto lost = lost_updates(round, what_);
    std::string finding = "nothing went wrong";
    if (too_many > 0) {
        finding = fmt::format("{} more than there were", grouped(too_many));
    } else if (lost > 0) {
        finding = fmt::format("{} not taken off the stock", grouped(lost));
    } else if (exact(round, what_)) {
        finding = "exact";
    }
    put(fmt::format("{}  {:>5.1f} s  {:>8} sold: {}\n", heading(round.guard), round.took.count(),
                    grouped(round.books.sold), painted(finding, colour_of(round))));
}

void screen::clear_line() {
    if (line_open_) put("\r\x1b[K");
    line_open_ = false;
}

std::string screen::table(const std::vector<round_result>& rounds) const {
    constexpr auto row = "{:<18}{:>9}{:>10}{:>9}{:>10}{:>10}{:>7}{:>7}";
    auto out =
        painted(fmt::format(row, "", "", "", "lost", "cache", "requests", "lock", "wait"), colour::faint) +
        "\n" +
        painted(fmt::format(row, "round", "sold", "oversold", "updates", "rebuilds", "per s", "p50", "p99"),
                colour::faint) +
        "\n";
    for (const auto& one : rounds) {
        const auto waits = one.guard != protection::none;
        const auto verdict = colour_of(one);
        const auto cell = [&](std::int64_t n, int width, bool wrong) {
            return painted(fmt::format("{:>{}}", grouped(n), width), wrong ? colour::bad
                                                                     : verdict == colour::good
                                                                         ? colour::good
                                                                         : colour::none);
        };
        out += fmt::format(
            "{:<18}", fmt::format("{}  {}", static_cast<int>(one.guard) + 1, name_of(one.guard, what_.kind)));
        out += cell(one.books.sold, 9, one.books.sold != std::min(what_.stock, what_.requests));
        out += cell(oversold(one, what_), 10, oversold(one, what_) != 0);
        out += cell(lost_updates(one, what_), 9, lost_updates(one, what_) != 0);
        out += cell(one.books.rebuilds, 10, one.books.rebuilds != 1);
        out += fmt::format("{:>10}", grouped(whole(one.requests_per_second())));
        out += fmt::format("{:>7}{:>7}\n", waits ? waited(one.books.wait_p50_us) : "-",
                           waits ? waited(one.books.wait_p99_us) : "-");
    }
    return out;
}

void screen::sum_up(const std::vector<round_result>& rounds) {
    put("\n" + table(rounds) + "\n");
    for (const auto& one : rounds) {
        put(painted(std::to_string(static_cast<int>(one.guard) + 1), colour_of(one)) + "  " +
            wrapped(explained(one, what_), 3) + "\n");
    }
}

}  // namespace holdfast::cli::demo
