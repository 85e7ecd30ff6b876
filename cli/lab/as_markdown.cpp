#include "cli/lab/as_markdown.hpp"

#include "cli/lab/lanes.hpp"
#include "cli/lab/texts.hpp"
#include "lab/play/timeline.hpp"
#include "lab/schemes/schemes.hpp"

#include <fmt/format.h>

namespace holdfast::lab {

namespace {

constexpr std::string_view introduction =
    R"(# The ladder: what goes wrong with simpler locks, and what cures it

Each rung is a lock as an article teaches it. `holdfast lab` plays its flaw with real processes on a real redis-server,
stops them at the points where it matters, and records what each process believes and who owns the key. Then it plays the
same order of steps on the scheme that cures the flaw, and on holdfast. `./dev docs` wrote this document from such a run;
`holdfast lab RUNG` shows it with every command that was sent, `holdfast lab --all --html FILE` as a page.

How to read the pictures: each process has a lane, with `=` while only this process believes it holds the lock, `X` while
another process believes it, too, and `-` while it waits. Below, each place where the lock is kept has a lane with the
name of its owner. The axis counts changes and not time; the numbers above are the steps.
)";

void append_steps(std::string& out, const record& seen) {
    int number = 0;
    for (const auto& one : seen.events) {
        if (one.kind == event_kind::step) out += fmt::format("{}. {}\n", ++number, one.text);
    }
}

void append_play(std::string& out, const schedule& what, const tally& one) {
    const auto* const scheme = find_scheme(one.cast.scheme);
    out += fmt::format("\n**{}**: [{}](../lab/schemes/{}.cpp), {}\n\n```text\n{}```\n\n",
                       role_of(one.cast.as), scheme->name, file_of(*scheme), scheme->what,
                       as_text(drawn(one.shown.seen), nullptr, show_times::no));
    const auto verdict = verdict_of(what, one.shown);
    out += fmt::format("{} {}\n", verdict.head, verdict.rest);
}

void append_schedule(std::string& out, const schedule_results& of) {
    const auto& what = *of.played;
    out += fmt::format("\n### {}: {}\n\n", what.name, what.flaw);
    if (!of.plays.empty()) append_steps(out, of.plays.front().shown.seen);
    for (const auto& one : of.plays) append_play(out, what, one);
    if (what.ours.empty()) out += fmt::format("\n**holdfast**: {}\n", what.why_ours);
}

}  // namespace

std::string as_markdown(const results& all) {
    std::string out{introduction};
    for (const auto& rung : all) {
        out += fmt::format("\n## {}: {}\n\nFrom \"{}\".\n", rung.of->name, rung.of->line, rung.of->article);
        for (const auto& one : rung.schedules) append_schedule(out, one);
    }
    // Remove spaces at the ends of lines: git and editors mark them.
    for (auto at = out.find(" \n"); at != out.npos; at = out.find(" \n")) out.erase(at, 1);
    return out;
}

}  // namespace holdfast::lab
