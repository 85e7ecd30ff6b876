// holdfast lab: the locks that articles teach, what goes wrong with each, and what cures it.
#include "cli/lab/as_html.hpp"
#include "cli/lab/as_json.hpp"
#include "cli/lab/as_markdown.hpp"
#include "cli/lab/story.hpp"

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/format.hpp"
#include "cli/process/interrupted.hpp"
#include "cli/process/scratch_server.hpp"
#include "cli/process/signals.hpp"

#include "lab/ladder.hpp"
#include "lab/play/mode_change.hpp"
#include "lab/play/performance.hpp"
#include "lab/play/reply_dropper.hpp"
#include "lab/schemes/schemes.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace holdfast::cli {

namespace {

constexpr auto lab_help =
    R"(Each rung is a lock as articles teach it. Real processes play its flaw on a real redis-server, always in the same order. The output shows side by side what each process believes and who owns the key. Then the same order is played on the scheme that cures the flaw, and on holdfast.

Needs only redis-server on PATH. It never touches a Redis of yours: it ignores --url and HOLDFAST_URL.

Exit code: 0 if everything went as predicted: each flaw was seen, and no cure showed it; 1 if not, 69 without a redis-server.

Examples:
  holdfast lab
  holdfast lab gold
  holdfast lab gold --on diamond
  holdfast lab --all --runs 20
  holdfast lab --all --html lab.html
  holdfast lab platinum --json | jq '.rungs[0].schedules[0].plays[0].beliefs')";

struct lab_wishes {
    std::string rung;
    bool all = false;
    int runs = 1;
    std::string on;
    bool json = false;
    std::string html;
    std::string markdown;
    std::string language = "en";
    bool perform = false;
    bool drop_replies = false;
    bool change_mode = false;

    [[nodiscard]] lab::language spoken() const {
        return language == "zh" ? lab::language::chinese : lab::language::english;
    }
};

// --- playing -------------------------------------------------------------------------------------

std::string names_of_all(auto&& things) {
    std::vector<std::string_view> names;
    for (const auto& one : things) names.push_back(one.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<const lab::rung*> chosen_rungs(const lab_wishes& wanted) {
    std::vector<const lab::rung*> chosen;
    for (const auto& one : lab::ladder()) {
        if (wanted.all || one.name == wanted.rung) chosen.push_back(&one);
    }
    if (chosen.empty()) {
        throw usage_error(fmt::format("there is no rung \"{}\"; use one of {}", base::printable(wanted.rung),
                                      names_of_all(lab::ladder())));
    }
    if (!wanted.on.empty() && lab::find_scheme(wanted.on) == nullptr) {
        throw usage_error(fmt::format("there is no scheme \"{}\"; use one of {}", base::printable(wanted.on),
                                      names_of_all(lab::all_schemes())));
    }
    return chosen;
}

std::vector<lab::casting> cast_for(const lab::schedule& what, const lab_wishes& wanted) {
    if (wanted.on.empty()) return cast_of(what);
    return {{wanted.on, lab::role::any}};
}

lab::tally play_often(const lab::schedule& what, const lab::casting& cast, int runs,
                      const lab::surroundings& around) {
    lab::tally sum{cast, 0, 0, {}};
    for (; sum.runs < runs; ++sum.runs) {
        auto seen = play(what, cast.scheme, cast.as, around);
        if (sum.runs == 0 || (sum.good() && !seen.as_predicted())) sum.shown = seen;
        if (seen.as_predicted()) ++sum.as_predicted;
    }
    return sum;
}

lab::results play_all(const std::vector<const lab::rung*>& rungs, const lab_wishes& wanted,
                      signal_inbox& signals, const lab::story& view) {
    const scratch_folder folder{"holdfast-lab"};
    const scratch_server server{folder, {.signals = &signals}};
    const lab::surroundings around{server.socket().string(), folder, signals};
    lab::results all;
    for (const auto* const rung : rungs) {
        if (!wanted.all) view.open(*rung);
        auto& schedules = all.emplace_back(lab::rung_results{rung, {}}).schedules;
        for (const auto& schedule : rung->schedules) {
            if (!wanted.all) view.open(schedule);
            auto& plays = schedules.emplace_back(lab::schedule_results{&schedule, {}}).plays;
            for (const auto& cast : cast_for(schedule, wanted)) {
                const auto& one = plays.emplace_back(play_often(schedule, cast, wanted.runs, around));
                if (wanted.all) {
                    view.tell_line(*rung, schedule, one);
                } else {
                    view.tell(schedule, one.shown);
                }
            }
            if (!wanted.all && wanted.on.empty()) view.tell_not_played(schedule);
        }
    }
    return all;
}

// A file to write after the last play; "-" is standard output.
class result_file {
  public:
    // Throws at once, and not after minutes, if the file cannot be written. Keeps its contents.
    result_file(const char* option, std::string name) : name_(std::move(name)) {
        if (name_.empty() || to_stdout()) return;
        is_new_ = !std::filesystem::exists(name_);
        errno = 0;
        if (!std::ofstream{name_, std::ios::app})
            throw usage_error(fmt::format("{}: cannot write {}: {}", option, name_,
                                          std::generic_category().message(errno)));
    }

    result_file(const result_file&) = delete;
    result_file& operator=(const result_file&) = delete;
    ~result_file() {
        std::error_code ignored;
        if (is_new_) std::filesystem::remove(name_, ignored);
    }

    [[nodiscard]] bool wanted() const { return !name_.empty(); }
    [[nodiscard]] bool to_stdout() const { return name_ == "-"; }

    void write(const std::string& text, const page& page, const lab::story& view) {
        if (to_stdout()) return fmt::print("{}", text);
        std::ofstream file{name_, std::ios::binary | std::ios::trunc};
        file << text;
        if (!file.flush())
            throw std::runtime_error(
                fmt::format("cannot write {}: {}", name_, std::generic_category().message(errno)));
        is_new_ = false;
        page.put(fmt::format("\n{}\n", view.translated(fmt::format("written: {}", name_))));
    }

  private:
    std::string name_;
    bool is_new_ = false;  // created empty by us and not written yet: the destructor removes it
};

int list_rungs(const lab_wishes& wanted) {
    if (!wanted.html.empty() || !wanted.markdown.empty() || !wanted.on.empty() || wanted.runs != 1)
        throw usage_error("name a rung to play, or give --all");
    if (wanted.json) {
        auto out = nlohmann::ordered_json::array();
        for (const auto& one : lab::ladder())
            out.push_back({{"rung", one.name}, {"line", one.line}, {"article", one.article}});
        fmt::print("{}\n", one_line({{"rungs", out}}));
    } else {
        const page list{stdout, false};
        lab::story{list, wanted.spoken()}.list();
    }
    return exit_code::ok;
}

int show_lab(const lab_wishes& wanted) {
    if (wanted.rung.empty() && !wanted.all) return list_rungs(wanted);
    if (!wanted.html.empty() && wanted.html == wanted.markdown)
        throw usage_error("--html and --markdown cannot write the same file");
    const auto rungs = chosen_rungs(wanted);
    result_file html{"--html", wanted.html};
    result_file markdown{"--markdown", wanted.markdown};
    const bool writes_to_stdout = wanted.json || html.to_stdout() || markdown.to_stdout();
    if (wanted.json + html.to_stdout() + markdown.to_stdout() > 1)
        throw usage_error("only one of --json, --html - and --markdown - can write to standard output");
    const page page{writes_to_stdout ? stderr : stdout, writes_to_stdout};
    const lab::story view{page, wanted.spoken()};
    // The main thread starts the lab's processes, and there is no other thread.
    signal_inbox signals;
    lab::results all;
    try {
        if (wanted.all) view.head();
        all = play_all(rungs, wanted, signals, view);
    } catch (const interrupted& by) {
        fmt::print(stderr, "holdfast: {}\n",
                   view.translated("interrupted; the processes of the lab are ended and its files removed"));
        return exit_code::by_signal(by.signal);
    } catch (const no_server& why) {
        fmt::print(stderr, "holdfast: {}\n", base::without_controls(why.what()));
        return exit_code::unavailable;
    }
    if (wanted.json) fmt::print("{}\n", one_line(as_json(all)));
    if (wanted.all) view.tell_reasons(all);
    if (!wanted.all && wanted.runs > 1) {
        page.put("\n");
        view.head();
        lab::for_each_play(all, [&](const auto& rung, const auto& schedule, const auto& one) {
            view.tell_line(rung, schedule, one);
        });
    }
    if (html.wanted()) html.write(as_html(all, wanted.spoken()), page, view);
    if (markdown.wanted()) markdown.write(as_markdown(all), page, view);
    if (all_good(all)) return exit_code::ok;
    fmt::print(stderr, "holdfast: {}\n", view.translated("not everything went as predicted"));
    return 1;
}

}  // namespace

std::string rung_names() {
    std::string names;
    for (const auto& rung : lab::ladder()) names.append(names.empty() ? "" : " ").append(rung.name);
    return names;
}

void add_lab(CLI::App& app, context& shared) {
    auto* const command =
        app.add_subcommand("lab", "Show what goes wrong with simpler locks, and what cures it");
    auto wanted = std::make_shared<lab_wishes>();
    command->footer(lab_help);
    auto* const rung = command->add_option("RUNG", wanted->rung, "The rung to play; without it, list all");
    command->add_flag("--all", wanted->all, "Play all rungs, and show a table")->excludes(rung);
    command->add_option("--runs", wanted->runs, "Play everything N times")
        ->check(CLI::Range(1, 1'000'000).description(""))
        ->capture_default_str()
        ->type_name("N");
    command
        ->add_option("--on", wanted->on,
                     "Play the rung's schedules on this scheme, and say which flaws it has")
        ->type_name("SCHEME");
    command->add_flag("--json", wanted->json, "Print one JSON object to stdout");
    command->add_option("--html", wanted->html, "Also write a page for a browser; - is stdout")
        ->type_name("FILE");
    command->add_option("--markdown", wanted->markdown, "Also write a document in English; - is stdout")
        ->type_name("FILE");
    command->add_option("--lang", wanted->language, "The language of the page and of the terminal")
        ->check(CLI::IsMember({"en", "zh"}))
        ->capture_default_str()
        ->type_name("LANG");
    // The lab starts its processes with these.
    command->add_flag("--perform", wanted->perform)->group("");
    command->add_flag("--drop-replies", wanted->drop_replies)->group("");
    command->add_flag("--change-mode", wanted->change_mode)->group("");
    command->callback([=, &shared] {
        shared.chosen = [=] {
            wanted->rung = plain(wanted->rung);
            if (wanted->perform) return lab::perform();
            if (wanted->drop_replies) return lab::drop_replies();
            if (wanted->change_mode) return lab::change_mode();
            return show_lab(*wanted);
        };
    });
}

}  // namespace holdfast::cli
