#include "cli/run/child.hpp"

#include "cli/run/guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <string_view>
#include <system_error>

namespace holdfast::cli {

namespace {

// Everything the children need, made before fork(): after it, in a process that had several threads, only
// async-signal-safe calls are allowed, and malloc is not one.
struct prepared {
    std::vector<std::string> paths;      // where the program may be
    std::vector<std::string> variables;  // "NAME=value"
    std::vector<char*> argv, envp, shell_argv;
    std::array<char, 16> pid_text{};  // of the command, the last word of the guard's command line
    std::array<char*, 3> guard_argv{};
    const launch* what;
    const signal_inbox* signals;
    int report;    // start_failure, if there is one
    int ready_in;  // a byte comes when the guard is ready
    int ready_out;
    int link;  // the guard's end
};

std::vector<std::string> places_to_look(const std::string& program) {
    if (program.empty()) return {};
    if (program.find('/') != std::string::npos) return {program};
    std::string_view left = "/usr/local/bin:/bin:/usr/bin";
    for (char** entry = environ; *entry != nullptr; ++entry) {
        if (const std::string_view e{*entry}; e.starts_with("PATH=")) left = e.substr(5);
    }
    std::vector<std::string> places;
    while (true) {
        const auto length = std::min(left.find(':'), left.size());
        const auto folder = left.substr(0, length);
        places.push_back((folder.empty() ? "." : std::string{folder}) + "/" + program);
        if (length == left.size()) return places;
        left.remove_prefix(length + 1);
    }
}

std::vector<std::string> environment_of(const launch& what) {
    const auto replaced = [&](std::string_view entry) {
        const auto name = entry.substr(0, entry.find('='));
        return std::ranges::find(what.removed, name) != what.removed.end() ||
               std::ranges::find(what.variables, name, &std::pair<std::string, std::string>::first) !=
                   what.variables.end();
    };
    std::vector<std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        if (!replaced(*entry)) all.emplace_back(*entry);
    }
    for (const auto& [name, value] : what.variables) all.push_back(name + "=" + value);
    return all;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
    std::vector<char*> all;
    for (const auto& word : words)
        all.push_back(const_cast<char*>(word.c_str()));  // execve's signature is older than const
    all.push_back(nullptr);
    return all;
}

// All but the descriptors. Points into `what`.
prepared prepared_for(const launch& what, const signal_inbox& signals) {
    prepared p{};
    p.paths = places_to_look(what.words.front());
    p.variables = environment_of(what);
    p.argv = pointers_to(what.words);
    p.envp = pointers_to(p.variables);
    p.shell_argv = p.argv;
    p.shell_argv.insert(p.shell_argv.begin(), const_cast<char*>("/bin/sh"));
    p.guard_argv = {const_cast<char*>(what.guard_title.c_str()), nullptr, nullptr};
    p.what = &what;
    p.signals = &signals;
    return p;
}

// As execvp: executes the first path that can be run, and a script without #! by the shell.
int execute_first(prepared& p) noexcept {
    int error = ENOENT;
    for (const auto& path : p.paths) {
        ::execve(path.c_str(), p.argv.data(), p.envp.data());
        if (errno == ENOEXEC) {
            p.shell_argv[1] = const_cast<char*>(path.c_str());
            ::execve("/bin/sh", p.shell_argv.data(), p.envp.data());
        }
        switch (errno) {
            case EACCES: error = EACCES; break;  // another folder may have one that we may run
            case ENOENT:
            case ENOTDIR:
            case ESTALE:
            case ENODEV:
            case ETIMEDOUT: break;
            default: return errno;
        }
    }
    return error;
}

[[noreturn]] void give_up(int report, start_failure why) noexcept {
    [[maybe_unused]] const auto n = ::write(report, &why, sizeof why);
    ::_exit(127);
}

[[noreturn]] void become_the_command(prepared& p, pid_t guard) noexcept {
    using part = start_failure::part;
    if (p.what->first_order.what != guard_order::task::look_on) {
        // The command must not outlive the guard.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != guard) ::_exit(127);
    }
    ::setpgid(0, 0);
    if (p.what->terminal >= 0) ::tcsetpgrp(p.what->terminal, ::getpid());
    ::close(p.ready_out);
    char ready = 0;
    ssize_t n = 0;
    do {
        n = ::read(p.ready_in, &ready, 1);
    } while (n < 0 && errno == EINTR);
    if (n != 1) give_up(p.report, {part::guard, 0});
    if (p.what->kept_open >= 0) ::fcntl(p.what->kept_open, F_SETFD, 0);
    p.signals->restore();
    give_up(p.report, {part::command, execute_first(p)});
}

// Gives the descriptors the numbers that the guard expects. False if there are not enough descriptors.
bool arrange_descriptors(prepared& p) noexcept {
    // First move them away from the numbers that are to be filled.
    constexpr int high = guard_ready_fd + 1;
    const int link = ::fcntl(p.link, F_DUPFD_CLOEXEC, high);
    const int ready = ::fcntl(p.ready_out, F_DUPFD_CLOEXEC, high);
    const int report = ::fcntl(p.report, F_DUPFD_CLOEXEC, high);
    if (link < 0 || ready < 0 || report < 0) return false;
    p.report = report;
    // The guard does not use the standard streams, and a reader of the command's output must not wait for it.
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        if (nowhere < 0 || ::dup2(nowhere, fd) < 0) return false;
    }
    return ::dup2(link, guard_link_fd) >= 0 && ::dup2(ready, guard_ready_fd) >= 0;
}

[[noreturn]] void become_the_guard(prepared& p) noexcept {
    using part = start_failure::part;
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    ::setpgid(0, 0);  // out of reach of the terminal's keys, and of a shell that stops its job
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) give_up(p.report, {part::guard, errno});
    const pid_t guard = ::getpid();
    const pid_t command = ::fork();
    if (command < 0) give_up(p.report, {part::guard, errno});
    if (command == 0) become_the_command(p, guard);

    ::setpgid(command, command);  // both processes do it, so that the group exists before any signal to it
    const guard_report born{.what = guard_report::kind::started, .count = command};
    [[maybe_unused]] const auto n = ::write(p.link, &born, sizeof born);
    p.guard_argv[1] = p.pid_text.data();
    *std::to_chars(p.pid_text.begin(), p.pid_text.end() - 1, command).ptr = '\0';
    if (arrange_descriptors(p)) {
        ::execve("/proc/self/exe", p.guard_argv.data(), environ);
        // Where /proc is not mounted, the guard works under our name. Nothing in it allocates.
        if (errno == ENOENT) ::_exit(holdfast::cli::guard(command));
    }
    give_up(p.report, {part::guard, errno});  // the command ends as well, since no byte comes
}

}  // namespace

std::variant<child, start_failure> child::start(const launch& what, const signal_inbox& signals) {
    const auto failed = [] { return start_failure{start_failure::part::guard, errno}; };
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed();
    unique_fd report_in{ends[0]};
    unique_fd report_out{ends[1]};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed();
    unique_fd ready_in{ends[0]};
    unique_fd ready_out{ends[1]};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return failed();
    unique_fd link{ends[0]};
    unique_fd guards_link{ends[1]};

    auto p = prepared_for(what, signals);
    p.report = report_out.get();
    p.ready_in = ready_in.get();
    p.ready_out = ready_out.get();
    p.link = guards_link.get();
    ::send(link.get(), &what.first_order, sizeof what.first_order, MSG_NOSIGNAL);

    // If somebody kills the guard, its descendants become our children.
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return failed();
    std::unique_ptr<stand_in> for_guard;
    try {
        for_guard = std::make_unique<stand_in>();
    } catch (const std::system_error& e) {  // no descriptor is left
        return start_failure{start_failure::part::guard, e.code().value()};
    }

    const pid_t guard = ::fork();
    if (guard < 0) return failed();
    if (guard == 0) become_the_guard(p);
    for_guard->found.begin_with(guard);

    report_out.reset();
    ready_in.reset();
    ready_out.reset();
    guards_link.reset();
    start_failure why{start_failure::part::guard, 0};  // if it was killed before it could report
    // The other ends close when both programs run.
    const bool runs = ::read(report_in.get(), &why, sizeof why) != static_cast<ssize_t>(sizeof why);
    guard_report born;
    const bool known = receive(link.get(), born) == received::message;
    child made{known ? born.count : 0, guard, std::move(link), std::move(for_guard)};
    if (runs && known) return made;
    made.leave();
    return why;
}

void child::signal(int signal) const noexcept { ::kill(-pid_, signal); }

bool child::order(const guard_order& what) const noexcept {
    return ::send(link_.get(), &what, sizeof what, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(sizeof what);
}

std::optional<child_change> child::next_change() noexcept {
    using kind = guard_report::kind;
    guard_report about;
    while (!without_guard_) {
        switch (receive(link_.get(), about)) {
            case received::nothing_yet: return std::nullopt;
            case received::message: break;
            case received::closed:
                without_guard_ = true;
                ::kill(guard_, SIGKILL);  // if it has only closed the link
                return guard_died{};
        }
        switch (about.what) {
            case kind::stopped: return child_stopped{about.by_signal};
            case kind::ended: ended_ = true; return child_ended{about.status, about.by_signal, about.at};
            case kind::began_to_end: return guard_began{};
            case kind::kills: return guard_kills{};
            case kind::cannot_end: return cannot_end{about.count, about.status};
            case kind::nothing_left: return nothing_left{about.count, about.seen};
            case kind::started:
            case kind::left_alone: break;
        }
    }
    return kill_without_guard();
}

void child::tend() noexcept {
    siginfo_t about{};
    if (::waitid(P_PID, static_cast<id_t>(guard_), &about, WSTOPPED | WNOHANG) == 0 && about.si_pid == guard_)
        ::kill(guard_, SIGCONT);
    while (true) {
        about = {};
        if (::waitid(P_ALL, 0, &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid == 0) return;
        if (about.si_pid == guard_ || about.si_pid == pid_) return;
        ::waitpid(about.si_pid, nullptr, 0);
    }
}

std::optional<boot_clock::time_point> child::replace_late_guard(boot_clock::time_point now) noexcept {
    constexpr std::chrono::seconds long_enough{5};
    if (ended_ || without_guard_ || !for_guard_->found.has_ended(pid_)) {
        zombie_since_.reset();
        return std::nullopt;
    }
    if (!zombie_since_) zombie_since_ = now;
    if (now - *zombie_since_ < long_enough) return *zombie_since_ + long_enough;
    replace_guard();
    return std::nullopt;
}

void child::replace_guard() noexcept { ::kill(guard_, SIGKILL); }

void child::end_without_guard() noexcept {
    kills_ = true;
    for_guard_->look_again.set({});
}

std::optional<child_change> child::kill_without_guard() noexcept {
    if (!kills_) return std::nullopt;
    for_guard_->look_again.clear();
    signal(SIGKILL);
    auto& killed = for_guard_->killed;
    killed.add(for_guard_->found.kill(0));
    for_guard_->look_again.set(boot_clock::now() + killed.pause());
    if (killed.get_nowhere() && !std::exchange(reported_cannot_end_, true))
        return cannot_end{killed.refused(), killed.signalled()};
    if (!guard_is_dead()) return std::nullopt;
    if (!ended_) {
        siginfo_t about{};
        const bool ours = ::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOHANG | WNOWAIT) == 0;
        if (ours && about.si_pid != pid_) return std::nullopt;
        ended_ = true;
        const bool exited = ours && about.si_code == CLD_EXITED;
        return child_ended{exited ? about.si_status : 0,
                           exited ? 0
                           : ours ? about.si_status
                                  : SIGKILL,
                           boot_clock::now()};
    }
    if (descendants::any_is_alive() && !killed.nothing_left()) return std::nullopt;
    kills_ = false;
    for_guard_->found.reap(pid_, guard_);
    for_guard_->look_again.set(boot_clock::time_point::max());
    return nothing_left{killed.refused(), for_guard_->found.seen()};
}

// Until it is dead, its children are not ours.
bool child::guard_is_dead() const noexcept {
    siginfo_t about{};
    return ::waitid(P_PID, static_cast<id_t>(guard_), &about, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           about.si_pid == guard_;
}

int child::leave() noexcept {
    constexpr int quickly_ms = 2'000;  // unless somebody has stopped it
    order({.what = guard_order::task::leave});
    int left = 0;
    pollfd link{link_.get(), POLLIN, 0};
    while (::poll(&link, 1, quickly_ms) > 0) {
        guard_report about;
        const auto got = receive(link_.get(), about);
        if (got == received::closed) break;
        if (got == received::nothing_yet) continue;
        if (about.what == guard_report::kind::left_alone) left = about.count;
    }
    ::kill(guard_, SIGKILL);
    ::waitpid(guard_, nullptr, 0);
    link_.reset();
    return left;
}

}  // namespace holdfast::cli
