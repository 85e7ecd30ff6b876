#include "cli/program.hpp"

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/completion.hpp"
#include "cli/manual.hpp"
#include "cli/output/error_output.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/wrap.hpp"

#include <holdfast/version.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <sstream>
#include <system_error>
#include <utility>

namespace holdfast::cli {

namespace {

// In the order in which --help lists them.
constexpr std::array commands{add_run,   add_ls,     add_inspect, add_evict,       add_doctor,
                              add_latch, add_switch, add_demo,    add_demo_outage, add_lab};

constexpr auto program_help =
    R"(The store of the locks: --url, else HOLDFAST_URL, else `url` in the file of --config, else redis://127.0.0.1:6379.
Put a password into HOLDFAST_URL or into the file: all users of the machine can read a command line.
rediss:// is redis:// over TLS, with the options ca, cert and key (PEM files), server_name and tls_min.
redis+sentinel://host1,host2,host3/name is the master that these sentinels name; rediss+sentinel:// the same over TLS.
redis+cluster://HOST,HOST... and rediss+cluster://... are a Redis Cluster; any of its servers will do.
redlock:URL,URL,URL is a lock on several independent servers; its holder is the client that has it on most of them. Settings
come before the servers: node_timeout (default 50ms), longest_lease (60s), restarts (quarantined or trusted) and name. A
server that was started less than longest_lease ago has no vote, unless restarts=trusted.
The file has lines such as "lease = 10s"; its keys are the fields of holdfast::config. A value may be in quotes.

Examples:
  holdfast run nightly -- ./report.sh
  holdfast ls 'stock:*'
  holdfast inspect stock:42 --json
  holdfast --url redlock:node_timeout=99ms,redis://a,redis://b,redis://c ls
  HOLDFAST_URL=redis://:secret@db1:6379/2 holdfast evict stock:42

More of them: holdfast COMMAND --help)";

int not_written() {
    return report_error(exit_code::output,
                        "the output cannot be written; is stdout closed, or its disk full?");
}

// A table that a full disk cut short must not look complete, even if an earlier flush failed.
int written_out(int code) {
    std::cout.flush();
    const bool whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
    return whole ? code : not_written();
}

}  // namespace

void describe(CLI::App& app, context& shared) {
    app.name("holdfast");
    app.footer(program_help);
    app.require_subcommand(1);
    app.set_version_flag("--version", fmt::format("holdfast {}.{}.{}", HOLDFAST_VERSION_MAJOR,
                                                  HOLDFAST_VERSION_MINOR, HOLDFAST_VERSION_PATCH));
    app.add_option(
           "--url", shared.urls,
           "The store, such as redis://127.0.0.1:6379, rediss://db1?ca=FILE or unix:///run/redis.sock")
        ->envname("HOLDFAST_URL")
        ->allow_extra_args(false)
        ->type_name("URL");
    app.add_option("--config", shared.config_file, "A file with settings")->type_name("FILE");
    for (const auto& add : commands) add(app, shared);
    // For packagers. Like --version, these flags end the parsing with a text to print.
    app.add_flag_callback("--print-manual", [&app] { throw CLI::CallForVersion(manual(app), exit_code::ok); })
        ->group("");
    for (const auto& [name, which] :
         {std::pair{"bash", shell::bash}, std::pair{"zsh", shell::zsh}, std::pair{"fish", shell::fish}}) {
        app.add_flag_callback(
               fmt::format("--print-completion-{}", name),
               [&app, which = which] { throw CLI::CallForVersion(completion(app, which), exit_code::ok); })
            ->group("");
    }
}

int run_program(std::vector<std::string> words) {
    context shared;
    CLI::App app{"Locks between processes and machines"};
    describe(app, shared);

    auto cut = split_at_dashes(std::move(words));
    shared.words_after_dashes = std::move(cut.behind_dashes);
    std::ranges::transform(cut.ours, cut.ours.begin(), shielded);
    std::ranges::reverse(cut.ours);  // CLI11 takes them from the back
    try {
        app.parse(std::move(cut.ours));
    } catch (const CLI::Success& asked) {  // --help, --version
        std::ostringstream text;
        const auto code = app.exit(asked, text);
        const bool help = dynamic_cast<const CLI::CallForHelp*>(&asked) != nullptr;
        std::cout << (help ? wrapped(text.str(), terminal_width()) : text.str());
        return written_out(code);
    } catch (const CLI::ParseError& refused) {
        return report_error(exit_code::usage, sentence_about(refused, app));
    }

    try {
        return written_out(shared.chosen());
    } catch (const usage_error& e) {
        return report_error(exit_code::usage, e.what());
    } catch (const CLI::ParseError& e) {  // a word that is looked at later
        return report_error(exit_code::usage, e.what());
    } catch (const error& e) {
        return report_error(e, shared.store());
    } catch (const std::system_error& e) {
        // Output larger than the buffer of stdio can fail in the middle, and fmt throws then.
        if (std::ferror(stdout) != 0) return not_written();
        return report_error(e);
    } catch (const std::bad_alloc&) {
        return report_error(exit_code::system,
                            std::string{missing_resource(make_error_code(std::errc::not_enough_memory))});
    } catch (const std::exception& e) {
        return report_error(exit_code::internal, e.what());
    }
}

}  // namespace holdfast::cli
