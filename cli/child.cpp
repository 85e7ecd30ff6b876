#include "cli/child.hpp"

#include "cli/unique_fd.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

namespace holdfast::cli {

namespace {

// Everything the child needs, made before fork(): after it, in a process that had several threads, only
// async-signal-safe calls are allowed, and malloc is not one.
struct prepared {
    std::vector<std::string> paths;      // where the program may be
    std::vector<std::string> variables;  // "NAME=value"
    std::vector<char*> argv, envp, shell_argv;
    const launch* what;
    const signal_inbox* signals;
    pid_t parent;
    int report;
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

// As execvp does it: the first that can be run; a script without #! goes to the shell.
int execute_first(prepared& p) noexcept {
    int error = ENOENT;
    for (const auto& path : p.paths) {
        ::execve(path.c_str(), p.argv.data(), p.envp.data());
        if (errno == ENOEXEC) {
            p.shell_argv[1] = const_cast<char*>(path.c_str());
            ::execve("/bin/sh", p.shell_argv.data(), p.envp.data());
        }
        switch (errno) {
            case EACCES: error = EACCES; break;  // another place may have one that we may run
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

[[noreturn]] void become_the_command(prepared& p) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // We may have been orphaned before that call; then nobody holds the lock for us any more.
    if (::getppid() != p.parent) ::_exit(127);
    ::setpgid(0, 0);
    if (p.what->terminal >= 0) ::tcsetpgrp(p.what->terminal, ::getpid());
    if (p.what->kept_open >= 0) ::fcntl(p.what->kept_open, F_SETFD, 0);
    p.signals->restore();
    const int error = execute_first(p);
    [[maybe_unused]] const auto n = ::write(p.report, &error, sizeof error);
    ::_exit(127);
}

}  // namespace

std::variant<child, start_failure> child::start(const launch& what, const signal_inbox& signals) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return start_failure{errno};
    unique_fd report_in{ends[0]};
    unique_fd report_out{ends[1]};

    prepared p{};
    p.paths = places_to_look(what.words.front());
    p.variables = environment_of(what);
    p.argv = pointers_to(what.words);
    p.envp = pointers_to(p.variables);
    p.shell_argv = p.argv;
    p.shell_argv.insert(p.shell_argv.begin(), const_cast<char*>("/bin/sh"));
    p.what = &what;
    p.signals = &signals;
    p.parent = ::getpid();
    p.report = report_out.get();

    const pid_t pid = ::fork();
    if (pid < 0) return start_failure{errno};
    if (pid == 0) become_the_command(p);

    ::setpgid(pid, pid);  // both sides do it: whichever comes first, the group is there for the next signal
    report_out.reset();
    int error = 0;
    // The other end closes when the program runs.
    if (::read(report_in.get(), &error, sizeof error) != static_cast<ssize_t>(sizeof error))
        return child{pid};
    ::waitpid(pid, nullptr, 0);
    return start_failure{error};
}

void child::signal(int signal) const noexcept { ::kill(-pid_, signal); }

std::optional<child_change> child::next_change() const noexcept {
    siginfo_t about{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &about, WSTOPPED | WNOHANG) == 0 && about.si_pid == pid_) {
        return child_stopped{about.si_status};
    }
    about = {};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        about.si_pid == pid_) {
        if (about.si_code == CLD_EXITED) return child_ended{about.si_status, 0};
        return child_ended{0, about.si_status};
    }
    return std::nullopt;
}

void child::reap() const noexcept {
    siginfo_t about{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED);
}

}  // namespace holdfast::cli
