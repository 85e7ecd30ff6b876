#include "cli/demo/crew.hpp"

#include "cli/process/interrupted.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

namespace holdfast::cli::demo {

using namespace std::chrono_literals;

crew::crew(signal_inbox& signals, const std::vector<std::string>& words, const std::vector<std::string>& jobs,
           line_handler on_line)
    : signals_(signals), on_line_(std::move(on_line)) {
    for (const auto& job : jobs) {
        auto& one = services_.emplace_back();
        one.process.emplace("/proc/self/exe", words, scoped_process::talk::lines);
        one.process->say(job);
    }
}

void crew::wait_until_ready() {
    while (!all(&service::ready)) listen(-1);
}

void crew::go() {
    for (auto& one : services_) one.process->say("go");
}

void crew::wait_for_the_end() {
    while (!ended()) listen(-1);
}

bool crew::all(bool service::*what) const { return std::ranges::all_of(services_, what); }

void crew::listen(int timeout_ms) {
    std::vector<pollfd> sources{{signals_.fd(), POLLIN, 0}};
    for (const auto& one : services_) sources.push_back({one.ended ? -1 : one.process->fd(), POLLIN, 0});
    ::poll(sources.data(), sources.size(), timeout_ms);
    throw_if_interrupted(signals_);
    for (std::size_t i = 0; i < services_.size(); ++i)
        if (!services_[i].ended) read_lines(i);
}

void crew::read_lines(std::size_t number) {
    auto& from = services_[number];
    constexpr std::string_view failed = "failed ";
    while (const auto line = from.process->next_line()) {
        if (*line == "ready") {
            from.ready = true;
        } else if (line->starts_with(failed)) {
            throw std::runtime_error(
                fmt::format("a service of the demo failed: {}", line->substr(failed.size())));
        } else {
            on_line_(number, *line);
        }
    }
    if (!from.process->silent()) return;
    // It has closed its output, so it ends now or in a moment.
    while (!from.process->status()) std::this_thread::sleep_for(1ms);
    const int status = *from.process->status();
    if (status != 0) {
        throw std::runtime_error(
            WIFSIGNALED(status)
                ? fmt::format("a service of the demo was killed by signal {}", WTERMSIG(status))
                : fmt::format("a service of the demo ended with code {}", WEXITSTATUS(status)));
    }
    from.ended = true;
}

}  // namespace holdfast::cli::demo
