// How the director controls one process.
#include "lab/play/director.hpp"
#include "lab/play/protocol.hpp"

#include <fmt/format.h>

#include <csignal>

namespace holdfast::lab {

process::process(director& by, const part& own, const process_options& how)
    : by_(by),
      name_(own.name),
      child_("/proc/self/exe", {"holdfast", "lab", "--perform"}, cli::scoped_process::talk::lines),
      owner_(own.owner),
      cut_off_from_(how.cut_off_from) {
    child_.say(to_line(own));
}

void process::go(std::string_view to) {
    last_command_.reset();
    stands_at_.clear();
    child_.say(fmt::format("run {}", to));
}

std::string process::arrive() {
    by_.running_ = name_;
    auto at = by_.wait_for(*this);
    by_.settle(*this);
    by_.look(last_command_);
    return at;
}

void process::broken(std::string_view at) const {
    if (at == point::too_late) throw too_slow("a grant came after its lease");
    if (at == point::failed)
        throw play_broken(fmt::format("process {} stopped at {}: {}", name_, at, last_message_));
    throw play_broken(at == point::ended ? fmt::format("process {} ended", name_)
                                         : fmt::format("process {} stopped at {}", name_, at));
}

void process::enters() {
    if (const auto at = run(point::in_cs); at != point::in_cs) broken(at);
}

bool process::gets_in() {
    const auto at = run(point::before_retry);
    if (at != point::before_retry && at != point::in_cs && at != point::nested) broken(at);
    return at != point::before_retry;
}

bool process::refused(int times) {
    for (int i = 0; i < times; ++i) {
        if (gets_in()) return false;
    }
    return true;
}

void process::writes() {
    if (const auto at = run(point::done); at != point::done) broken(at);
    if (by_.resource() != "written by " + name_)
        throw play_broken(fmt::format("process {} did not write", name_));
}

void process::kill() {
    by_.look();
    child_.signal(SIGKILL);
    by_.fault(*this, "is killed (SIGKILL)");
    by_.made_.dies(name_, by_.since_start(boot_clock::now()));
    ended_ = true;
}

void process::pause() {
    if (ended_ || stands_at_ == point::done || stands_at_ == point::failed)
        broken(ended_ ? point::ended : stands_at_);
    child_.signal(SIGSTOP);
    child_.wait_until_stopped();
    // It may have renewed its key until now.
    const bool kept = by_.is_kept();
    by_.look();
    if (kept && !by_.is_kept()) throw too_slow("the key expired before its owner stood still");
    by_.fault(*this, "stands still (SIGSTOP)");
    by_.made_.stands_still(name_, by_.since_start(boot_clock::now()));
}

void process::resume() {
    by_.made_.moves_again(name_, by_.since_start(boot_clock::now()));
    by_.fault(*this, "goes on (SIGCONT)");
    child_.signal(SIGCONT);
}

}  // namespace holdfast::lab
