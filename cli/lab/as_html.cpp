#include "cli/lab/as_html.hpp"

#include "cli/lab/as_svg.hpp"
#include "cli/lab/texts.hpp"
#include "lab/play/timeline.hpp"
#include "lab/schemes/schemes.hpp"
#include "lab/schemes/texts.hpp"

#include <holdfast/version.hpp>

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace holdfast::lab {

namespace {

// The hatch of bars where two processes believe at once. All pictures share it.
constexpr std::string_view hatch = R"svg(<svg width="0" height="0" aria-hidden="true"><defs>
<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="2" height="6" class="stripe"/></pattern></defs></svg>)svg";

class page {
  public:
    explicit page(language spoken) : spoken_(spoken) {}

    std::string of(const results& all) {
        out_ = "<!doctype html>\n";
        out_ += fmt::format("<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n",
                            spoken_ == language::chinese ? "zh-CN" : "en");
        out_ += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
        put("<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{}\n", translated(title), text::page,
            hatch);
        head(all);
        out_ += "<main>\n";
        for (const auto& rung : all) section(rung);
        put("</main>\n<footer>{}</footer>\n</body>\n</html>\n",
            translated(fmt::format("Made by holdfast {}.{}.{}.", HOLDFAST_VERSION_MAJOR,
                                   HOLDFAST_VERSION_MINOR, HOLDFAST_VERSION_PATCH)));
        return std::move(out_);
    }

  private:
    static constexpr std::string_view title = "Why simple distributed locks fail, and what cures them";

    template <class... Values>
    void put(fmt::format_string<Values...> how, Values&&... values) {
        fmt::format_to(std::back_inserter(out_), how, std::forward<Values>(values)...);
    }

    // Marks a text without a translation as English.
    [[nodiscard]] std::string translated(std::string_view english) const {
        if (english.empty() || is_translated(spoken_, english)) return escaped(in(spoken_, english));
        return fmt::format("<span lang=\"en\">{}</span>", escaped(english));
    }

    void head(const results& all) {
        put("<header>\n<h1>{}</h1>\n<p>{}</p>\n", translated(title),
            translated(
                "Every picture below is a record of a real run: real processes on a real redis-server, "
                "driven "
                "to the points where it matters. The axis counts changes, not time."));
        put("<ul class=\"legend\">\n");
        for (const auto& [mark, meaning] :
             {std::pair{"alone", "believes it holds the lock, alone"},
              std::pair{"contested", "believes it while another does too"},
              std::pair{"waits", "waits for the lock"}, std::pair{"still", "stands still"},
              std::pair{"owner of-A", "owns the key on the server"}})
            put("<li><i class=\"{}\"></i> {}</li>\n", mark, translated(meaning));
        put("</ul>\n</header>\n<nav>\n<h2>{}</h2>\n<ol>\n", translated("Rungs"));
        for (const auto& rung : all)
            put("<li><a href=\"#rung-{0}\">{0}</a> {1}</li>\n", rung.of->name, translated(rung.of->line));
        put("</ol>\n</nav>\n");
    }

    void section(const rung_results& rung) {
        put("<section class=\"rung\" id=\"rung-{0}\">\n<h2>{0}</h2>\n<p class=\"line\">{1}</p>\n",
            rung.of->name, translated(rung.of->line));
        put("<p class=\"source\">{}</p>\n",
            translated(fmt::format("from \"{}\"", in(spoken_, rung.of->article))));
        for (const auto& one : rung.schedules) article(one);
        put("</section>\n");
    }

    void article(const schedule_results& of) {
        const auto& what = *of.played;
        const bool overlap = !of.plays.empty() && !overlaps(of.plays.front().shown.seen).empty();
        put("<article class=\"schedule\" data-overlap=\"{}\">\n<h3><code>{}</code> {}</h3>\n",
            overlap ? "yes" : "no", what.name, translated(what.flaw));
        out_ += "<ol class=\"order\">\n";
        if (!of.plays.empty()) {
            for (const auto& one : of.plays.front().shown.seen.events) {
                if (one.kind == event_kind::step) put("<li>{}</li>\n", translated(one.text));
            }
        }
        out_ += "</ol>\n<dl>\n";
        answer("What goes wrong", what.why);
        answer("What cures it", what.why_cured);
        answer("What holdfast does", what.why_ours);
        answer("What holdfast does with two stores", what.why_joint);
        put("</dl>\n<div class=\"plays\">\n");
        for (const auto& one : of.plays) figure(what, one);
        put("</div>\n</article>\n");
    }

    void answer(std::string_view question, std::string_view text) {
        if (!text.empty()) put("<dt>{}</dt><dd>{}</dd>\n", translated(question), translated(text));
    }

    void figure(const schedule& what, const tally& one) {
        static constexpr std::array roles{"flawed", "cure", "holdfast", "joint", "any"};
        const auto* const scheme = find_scheme(one.cast.scheme);
        put("<figure class=\"play\" data-role=\"{}\" data-scheme=\"{}\">\n<figcaption><b>{}</b> ",
            roles.at(static_cast<std::size_t>(one.cast.as)), scheme->name, translated(role_of(one.cast.as)));
        put("<a href=\"#source-{}\"><code>{}</code></a> {}</figcaption>\n", file_of(*scheme), scheme->name,
            translated(scheme->what));
        put("<div class=\"wide\">{}</div>\n",
            as_svg(drawn(one.shown.seen),
                   fmt::format("{} {}", in(spoken_, role_of(one.cast.as)), scheme->name),
                   [this](std::string_view text) { return in(spoken_, text); }));
        const auto verdict = verdict_of(what, one.shown);
        put("<p class=\"verdict {}\">{}", verdict.good ? "good" : "bad", translated(verdict.head));
        if (!one.shown.as_predicted()) put(" {}", translated(verdict.rest));
        if (one.runs > 1)
            put(" <small>{}</small>", translated(fmt::format("Played {} times, as predicted {} times.",
                                                             one.runs, one.as_predicted)));
        put("</p>\n");
        steps(one.shown.seen);
        source(*scheme);
        put("</figure>\n");
    }

    void steps(const record& seen) {
        put("<details><summary>{}</summary>\n<ol class=\"steps\">\n",
            translated("What happened, step by step"));
        bool open = false;
        for (const auto& one : seen.events) {
            if (one.kind == event_kind::step) {
                put("{}<li>{}\n<ul>\n", open ? "</ul></li>\n" : "", translated(one.text));
                open = true;
            } else {
                if (!open) put("<li><ul>\n");
                open = true;
                event_line(one);
            }
        }
        put("{}</ol>\n</details>\n", open ? "</ul></li>\n" : "");
    }

    void event_line(const event& seen) {
        static constexpr std::array kinds{"step", "command", "stop", "says", "fault"};
        put("<li class=\"{}\"><b>{}</b> ", kinds.at(static_cast<std::size_t>(seen.kind)),
            seen.who.empty() ? "\u2013" : seen.who);
        if (seen.kind == event_kind::command) {
            put("<code>{}</code> \u2192 <code>{}</code>", escaped(seen.text), escaped(seen.reply));
            if (seen.times > 1) put(" {}", translated(fmt::format("({} times)", seen.times)));
        } else if (seen.kind == event_kind::stop) {
            const auto meaning = meaning_of(seen.text);
            put("{}{}", translated(meaning), translated(fmt::format("stops at {}", seen.text)));
        } else {
            put("{}", translated(seen.text));
        }
        put("</li>\n");
    }

    void source(const known_scheme& one) {
        if (!shown_.insert(file_of(one)).second) return;
        put("<details class=\"code\" "
            "id=\"source-{}\"><summary>{}</summary>\n<pre><code>{}</code></pre></details>\n",
            file_of(one), translated("The scheme"), escaped(one.source));
    }

    language spoken_;
    std::string out_;
    std::set<std::string_view> shown_;  // sources shown so far
};

}  // namespace

std::string as_html(const results& all, language spoken) { return page{spoken}.of(all); }

}  // namespace holdfast::lab
