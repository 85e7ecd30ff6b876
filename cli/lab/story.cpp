#include "cli/lab/story.hpp"

#include "cli/lab/lanes.hpp"
#include "cli/lab/texts.hpp"

#include "base/text.hpp"
#include "lab/ladder.hpp"
#include "lab/schemes/schemes.hpp"

#include <fmt/format.h>

#include <array>

namespace holdfast::lab {

namespace {

using cli::colour;

// Chinese sentences follow each other without a space.
std::string sentence(const std::string& head, const std::string& rest) {
    const auto* const space = head.ends_with("\u3002") || head.ends_with("\uff1a") || rest.empty() ? "" : " ";
    return head + space + rest;
}

// All columns of a row of the table but the last.
std::string row(const std::array<std::string, 4>& cells) {
    static constexpr std::array<std::size_t, 4> widths{13, 19, 20, 10};
    std::string out;
    for (std::size_t i = 0; i < cells.size(); ++i) out += cli::page::padded(cells[i], widths[i]);
    return out;
}

}  // namespace

std::string story::line_of(const event& seen) const {
    switch (seen.kind) {
        case event_kind::command:
            return fmt::format(
                "{} -> {}{}", base::without_controls(seen.text), base::without_controls(seen.reply),
                seen.times > 1 ? "   " + translated(fmt::format("({} times)", seen.times)) : "");
        case event_kind::stop:
            return translated(meaning_of(seen.text)) + translated(fmt::format("stops at {}", seen.text));
        case event_kind::says:
        case event_kind::fault:
        case event_kind::step: break;
    }
    return translated(seen.text);
}

void story::list() const {
    for (const auto& one : ladder()) {
        page_.put(fmt::format("{}  {}\n", page_.painted(fmt::format("{:<11}", one.name), colour::strong),
                              page_.wrapped(translated(one.line), 13)));
    }
}

void story::open(const rung& rung) const {
    const auto line = page_.wrapped(fmt::format("{}: {}", rung.name, translated(rung.line)), 0);
    const auto from = page_.wrapped(translated(fmt::format("from \"{}\"", translated(rung.article))), 0);
    page_.put(page_.painted(line, colour::strong) + "\n" + page_.painted(from, colour::faint) + "\n");
}

void story::open(const schedule& schedule) const {
    page_.put("\n" +
              page_.painted(page_.wrapped(fmt::format("{}: {}", schedule.name, translated(schedule.flaw)), 0),
                            colour::strong) +
              "\n");
}

void story::tell(const schedule& schedule, const outcome& what) const {
    const auto* const scheme = find_scheme(what.scheme);
    page_.put(fmt::format(
        "\n{}  {}\n", page_.painted(translated(role_of(what.as)), colour::strong),
        scheme != nullptr ? fmt::format("{} ({})", what.scheme, translated(scheme->what)) : what.scheme));
    events(what.seen);
    page_.put("\n" + as_text(drawn(what.seen), &page_, show_times::yes) + "\n");
    verdict(schedule, what);
}

void story::events(const record& seen) const {
    int step = 0;
    for (const auto& one : seen.events) {
        if (one.kind == event_kind::step) {
            page_.put(fmt::format("{:>3}  {}\n", ++step, page_.wrapped(translated(one.text), 5)));
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

void story::verdict(const schedule& schedule, const outcome& what) const {
    const auto verdict = verdict_of(schedule, what);
    say(translated(verdict.head), verdict.good ? colour::good : colour::bad, translated(verdict.rest));
}

void story::say(const std::string& head, colour in, const std::string& rest) const {
    const auto text = page_.wrapped(sentence(head, rest), 0);
    page_.put(page_.painted(text.substr(0, head.size()), in) + text.substr(head.size()) + "\n");
}

void story::tell_not_played(const schedule& schedule) const {
    if (!schedule.ours.empty()) return;
    page_.put("\n");
    say(translated(not_played), colour::strong, translated(schedule.why_ours));
}

void story::head() const {
    page_.put(page_.painted(row({translated("rung"), translated("schedule"), translated("scheme"),
                                 translated("flaw")}) +
                                translated("as predicted"),
                            colour::faint) +
              "\n");
}

void story::tell_line(const rung& rung, const schedule& schedule, const tally& one) const {
    const auto* const flaw = !one.shown.broken.empty() ? "?" : one.shown.flaw_seen ? "seen" : "not seen";
    page_.put(row({std::string{rung.name}, std::string{schedule.name}, one.cast.scheme, translated(flaw)}) +
              page_.painted(fmt::format("{}/{}", one.as_predicted, one.runs),
                            one.good() ? colour::good : colour::bad) +
              "\n");
}

void story::tell_reasons(const results& all) const {
    const auto* before = "\n";
    for_each_play(all, [&](const rung& rung, const schedule& schedule, const tally& one) {
        if (one.good() && one.shown.broken.empty()) return;
        const auto why = verdict_of(schedule, one.shown);
        page_.put(before);
        before = "";
        say(fmt::format("{}, {}, {}:", rung.name, schedule.name, one.cast.scheme), colour::strong,
            sentence(translated(why.head), translated(why.rest)));
    });
}

}  // namespace holdfast::lab
