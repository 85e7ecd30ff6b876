#include "cli/lab/story.hpp"

#include "lab/ladder.hpp"
#include "lab/protocol.hpp"
#include "lab/schemes/schemes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>

namespace holdfast::lab {

namespace {

using cli::stage::colour;

constexpr std::size_t margin = 9;  // of the lanes, for their names
constexpr std::size_t widest_column = 14;

std::string milliseconds_of(instant t) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(t).count());
}

// Of the points that every scheme has.
std::string_view meaning_of(std::string_view stop) {
    if (stop == point::in_cs) return "has the lock: ";
    if (stop == point::nested) return "has the lock twice: ";
    if (stop == "before_retry") return "is refused: ";
    return {};
}

std::string line_of(const event& seen) {
    switch (seen.kind) {
        case event_kind::command:
            return fmt::format("{} -> {}{}", seen.text, seen.reply,
                               seen.times > 1 ? fmt::format("   ({} times)", seen.times) : "");
        case event_kind::stop: return fmt::format("{}stops at {}", meaning_of(seen.text), seen.text);
        case event_kind::says:
        case event_kind::fault:
        case event_kind::step: break;
    }
    return seen.text;
}

std::string role_of(role as) {
    switch (as) {
        case role::flawed: return "the flaw";
        case role::cure: return "the cure, on the same schedule";
        case role::ours: return "holdfast, on the same schedule";
    }
    return {};
}

}  // namespace

void story::list() const {
    for (const auto& one : ladder()) {
        page_.put(fmt::format("{}  {}\n", page_.painted(fmt::format("{:<11}", one.name), colour::strong),
                              page_.wrapped(std::string{one.line}, 13)));
    }
}

void story::open(const rung& rung) const {
    page_.put(page_.painted(fmt::format("{}: {}", rung.name, rung.line), colour::strong) + "\n" +
              page_.painted(fmt::format("from \"{}\"", rung.article), colour::faint) + "\n");
}

void story::open(const schedule& schedule) const {
    page_.put(
        "\n" +
        page_.painted(page_.wrapped(fmt::format("{}: {}", schedule.name, schedule.flaw), 0), colour::strong) +
        "\n");
}

void story::tell(const schedule& schedule, const outcome& what) const {
    const auto* const scheme = find_scheme(what.scheme);
    page_.put(
        fmt::format("\n{}  {}\n", page_.painted(role_of(what.as), colour::strong),
                    scheme != nullptr ? fmt::format("{} ({})", what.scheme, scheme->what) : what.scheme));
    events(what.seen);
    const auto steps = std::max<std::size_t>(
        1, static_cast<std::size_t>(std::ranges::count(what.seen.events, event_kind::step, &event::kind)));
    draw(drawn(what.seen, std::clamp<std::size_t>((page_.width() - margin) / steps, 4, widest_column)));
    verdict(schedule, what);
}

void story::events(const record& seen) const {
    int step = 0;
    for (const auto& one : seen.events) {
        if (one.kind == event_kind::step) {
            page_.put(fmt::format("{:>3}  {}\n", ++step, page_.wrapped(one.text, 5)));
            continue;
        }
        const auto who = one.who.empty() ? "-" : one.who;
        const auto text = page_.wrapped(line_of(one), 10);
        const auto in = one.kind == event_kind::fault  ? colour::bad
                        : one.kind == event_kind::stop ? colour::faint
                                                       : colour::none;
        page_.put(fmt::format("       {}  {}\n", who, page_.painted(text, in)));
    }
}

std::string story::cells(const lane& of) const {
    const auto* const bar = page_.unicode() && page_.colours() ? "\u2588" : "=";
    std::string out;
    for (std::size_t i = 0; i < of.cells.size(); ++i) {
        if (!of.owner.empty()) {
            out += of.cells[i] == cell::nothing ? page_.painted(".", colour::faint) : of.owner[i];
            continue;
        }
        switch (of.cells[i]) {
            case cell::nothing: out += ' '; break;
            case cell::alone: out += page_.painted(bar, colour::good); break;
            case cell::beside: out += page_.painted(page_.colours() ? bar : "X", colour::bad); break;
        }
    }
    return out.substr(0, out.find_last_not_of(' ') + 1);
}

void story::draw(const timeline& lanes) const {
    std::string numbers;
    std::string times;
    for (const auto& one : lanes.columns) {
        numbers += fmt::format("{:<{}}", one.number, lanes.width);
        times += fmt::format("{:<{}}", milliseconds_of(one.from), lanes.width);
    }
    const auto rule = [&](const char* head, std::string text) {
        text.erase(text.find_last_not_of(' ') + 1);
        page_.put(page_.painted(fmt::format("{:>{}}{}", head, margin, text), colour::faint) + "\n");
    };
    page_.put("\n");
    rule("step  ", numbers);
    for (const auto& one : lanes.beliefs)
        page_.put(fmt::format("{:>{}}{}\n", one.who + "  ", margin, cells(one)));
    page_.put(fmt::format("{:>{}}{}\n", "key  ", margin, cells(lanes.key)));
    rule("ms  ", times);
    page_.put("\n");
}

void story::verdict(const schedule& schedule, const outcome& what) const {
    const auto say = [&](const std::string& head, colour in, std::string_view rest) {
        const auto text = page_.wrapped(fmt::format("{} {}", head, rest), 0);
        page_.put(page_.painted(text.substr(0, head.size()), in) + text.substr(head.size()) + "\n");
    };
    if (!what.as_predicted()) {
        const bool missing = what.as == role::flawed;
        return say(missing ? "NOT AS PREDICTED: flaw not seen." : "NOT AS PREDICTED:", colour::bad,
                   missing          ? std::string_view{}
                   : what.flaw_seen ? std::string_view{"the flaw was seen here too. Please report it."}
                                    : std::string_view{"two believed to hold the lock. Please report it."});
    }
    switch (what.as) {
        case role::flawed: return say("Flaw seen.", colour::bad, schedule.why);
        case role::cure: return say("Cured.", colour::good, schedule.why_cured);
        case role::ours: return say("Not here.", colour::good, schedule.why_ours);
    }
}

void story::head() const {
    page_.put(page_.painted(fmt::format("{:<12} {:<18} {:<19} {:<9} {:>12}", "rung", "schedule", "scheme",
                                        "flaw", "as predicted"),
                            colour::faint) +
              "\n");
}

void story::tell_line(const tally& one) const {
    const auto share = fmt::format("{:>12}", fmt::format("{} of {}", one.as_predicted, one.runs));
    page_.put(fmt::format("{:<12} {:<18} {:<19} {:<9} {}\n", one.of->name, one.played->name, one.cast.scheme,
                          one.last.flaw_seen ? "seen" : "not seen",
                          page_.painted(share, one.as_predicted == one.runs ? colour::good : colour::bad)));
}

}  // namespace holdfast::lab
