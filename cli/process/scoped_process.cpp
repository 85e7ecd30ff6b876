#include "cli/process/scoped_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

namespace holdfast::cli {

namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

struct pipe_ends {
    unique_fd read, write;
};

pipe_ends make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
    return {unique_fd{ends[0]}, unique_fd{ends[1]}};
}

sigset_t keys_of_a_terminal() {
    sigset_t keys;
    ::sigemptyset(&keys);
    for (const int signal : {SIGINT, SIGQUIT, SIGTSTP, SIGHUP}) ::sigaddset(&keys, signal);
    return keys;
}

// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(const char* program, char* const* argv, const sigset_t& mask, pid_t parent, int in,
                         int out) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // the parent died before the line above
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    ::dup2(in, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::execv(program, argv);
    ::_exit(127);
}

}  // namespace

scoped_process::scoped_process(const std::filesystem::path& program, const std::vector<std::string>& words,
                               talk with) {
    unique_fd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
    if (!null) fail("/dev/null");
    pipe_ends to;
    pipe_ends from;
    if (with == talk::lines) {
        to = make_pipe();
        from = make_pipe();
        ::fcntl(from.read.get(), F_SETFL, O_NONBLOCK);
    }
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const auto mask = keys_of_a_terminal();
    const auto parent = ::getpid();

    pid_ = ::fork();
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) {
        become(program.c_str(), argv.data(), mask, parent, with == talk::lines ? to.read.get() : null.get(),
               with == talk::lines ? from.write.get() : null.get());
    }
    in_ = std::move(to.write);
    out_ = std::move(from.read);
}

scoped_process::~scoped_process() {
    if (status()) return;
    ::kill(pid_, SIGKILL);
    int ignored = 0;
    while (::waitpid(pid_, &ignored, 0) < 0 && errno == EINTR) {
    }
}

void scoped_process::say(std::string_view line) noexcept {
    // Lines are far shorter than what a pipe takes at once, so write() neither blocks nor cuts them. SIGPIPE
    // is ignored (signal_inbox).
    try {
        const auto bytes = std::string{line} + '\n';
        [[maybe_unused]] const auto written = ::write(in_.get(), bytes.data(), bytes.size());
    } catch (...) {  // no memory: the caller finds out that no answer comes
    }
}

std::optional<std::string> scoped_process::next_line() {
    while (true) {
        if (const auto end = unread_.find('\n'); end != std::string::npos) {
            auto line = unread_.substr(0, end);
            unread_.erase(0, end + 1);
            return line;
        }
        std::array<char, 4096> bytes;
        const auto got = ended_ ? 0 : ::read(out_.get(), bytes.data(), bytes.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return std::nullopt;
        if (got <= 0) {
            ended_ = true;
            return std::nullopt;
        }
        unread_.append(bytes.data(), static_cast<std::size_t>(got));
    }
}

void scoped_process::signal(int number) noexcept {
    if (!status()) ::kill(pid_, number);
}

void scoped_process::wait_until_stopped() noexcept {
    siginfo_t seen{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &seen, WSTOPPED | WEXITED | WNOWAIT) < 0 &&
           errno == EINTR) {
    }
}

std::optional<int> scoped_process::status() noexcept {
    int now = 0;
    if (!status_ && ::waitpid(pid_, &now, WNOHANG) == pid_) status_ = now;
    return status_;
}

}  // namespace holdfast::cli
