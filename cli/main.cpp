// holdfast: locks between processes and machines, for the shell.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/program.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {

namespace {

// A descriptor that we open must not get the number of a standard stream that whoever started us has closed:
// the command would write its output into it. It is closed again for the command.
void occupy_standard_streams() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        if (::fcntl(fd, F_GETFD) < 0) {
            [[maybe_unused]] const int opened = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        }
    }
}

int code_for(const std::error_code& code) {
    if (code.category() != category()) return exit_code::internal;
    switch (static_cast<errc>(code.value())) {
        case errc::invalid_argument:
        case errc::wrong_kind: return exit_code::usage;
        case errc::no_permission:
        case errc::unavailable:
        case errc::out_of_memory:
        case errc::busy_server:
        case errc::unknown_outcome:
        case errc::lease_too_short:
        case errc::bad_reply: return exit_code::unavailable;
        case errc::lost: return exit_code::lost;
        case errc::timed_out: return exit_code::conflict;
        case errc::would_deadlock:
        case errc::not_owner:
        case errc::forked:
        case errc::closed:
        case errc::cancelled: return exit_code::internal;
    }
    return exit_code::internal;
}

std::string advice_for(const std::error_code& code) {
    if (code.category() != category()) return {};
    switch (static_cast<errc>(code.value())) {
        case errc::unavailable: return "is the server running, and is the URL right (--url, HOLDFAST_URL)?";
        case errc::no_permission:
            return "check user, password and rights of the URL (HOLDFAST_URL, or url in the file of "
                   "--config)";
        case errc::out_of_memory: return "the server needs more memory, or fewer keys";
        case errc::busy_server: return "try again when the server is ready";
        case errc::unknown_outcome:
            return "whatever was granted expires by itself; try again after one lease";
        case errc::lease_too_short: return "the store is slow: give a longer --ttl";
        case errc::wrong_kind: return "see what it holds with holdfast inspect";
        default: return {};
    }
}

int complain(int code, const std::string& sentence) {
    fmt::print(stderr, "holdfast: {}\n", sentence);
    return code;
}

int complain(const error& e) {
    std::string_view sentence_and_code = e.what();
    // std::system_error appends what the code means, which the sentence has just said.
    if (const auto code = ": " + e.code().message(); sentence_and_code.ends_with(code)) {
        sentence_and_code.remove_suffix(code.size());
    }
    std::string sentence{sentence_and_code};
    if (!e.server_text().empty()) sentence += fmt::format(" (the server says: {})", e.server_text());
    if (const auto advice = advice_for(e.code()); !advice.empty()) sentence += "; " + advice;
    return complain(code_for(e.code()), sentence);
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
        return app.exit(asked);
    } catch (const CLI::ParseError& refused) {
        return complain(exit_code::usage, sentence_about(refused, app));
    }

    try {
        const int code = shared.chosen();
        // A table that did not reach a full disk must not look complete.
        if (std::fflush(stdout) != 0) return complain(exit_code::output, "the output cannot be written");
        return code;
    } catch (const usage_error& e) {
        return complain(exit_code::usage, e.what());
    } catch (const error& e) {
        return complain(e);
    } catch (const std::exception& e) {
        return complain(exit_code::internal, e.what());
    }
}

}  // namespace

}  // namespace holdfast::cli

int main(int argc, char** argv) {
    holdfast::cli::occupy_standard_streams();
    return holdfast::cli::run_program({argv + std::min(argc, 1), argv + argc});
}
