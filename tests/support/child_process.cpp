#include "support/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>

namespace holdfast::test {

namespace {

using std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) { throw std::system_error{errno, std::generic_category(), what}; }

struct pipe_ends {
    unique_fd read;
    unique_fd write;
};

pipe_ends make_pipe() {
    std::array<int, 2> fds{};
    if (::pipe2(fds.data(), O_CLOEXEC) != 0) fail("pipe2");
    return {unique_fd{fds[0]}, unique_fd{fds[1]}};
}

// Arguments for execvpe.
std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> out;
    for (auto& s : strings) out.push_back(s.data());
    out.push_back(nullptr);
    return out;
}

std::vector<std::string> merged_environment(const child_process::environment& extra) {
    std::vector<std::string> all;
    for (char** e = environ; *e != nullptr; ++e) {
        const std::string_view entry{*e};
        bool replaced = false;
        for (const auto& [name, value] : extra) replaced = replaced || entry.starts_with(name + "=");
        if (!replaced) all.emplace_back(entry);
    }
    for (const auto& [name, value] : extra) all.push_back(name + "=" + value);
    return all;
}

// Made before the fork: in the child of a process with threads, nothing may be allocated under a sanitizer.
struct prepared_program {
    prepared_program(const std::vector<std::string>& argv, const child_process::environment& extra)
        : strings(argv), variables(merged_environment(extra)) {}

    std::vector<std::string> strings, variables;
    std::vector<char*> arguments = pointers(strings);
    std::vector<char*> environment = pointers(variables);
};

int milliseconds_to(steady_clock::time_point deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    return left > 0 ? static_cast<int>(left) : 0;
}

}  // namespace

void parent_link::report(std::string_view line) const {
    std::string text{line};
    text += '\n';
    if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) ::_exit(1);
}

std::string parent_link::await_line() const {
    std::string line;
    // Byte by byte, so that the text after the line is left for the next call.
    for (char c = 0; ::read(STDIN_FILENO, &c, 1) == 1;) {
        if (c == '\n') return line;
        line += c;
    }
    ::_exit(1);
}

void child_process::capture::drain() {
    std::array<char, 4096> chunk;
    while (fd) {
        const auto n = ::read(fd.get(), chunk.data(), chunk.size());
        if (n > 0) {
            text.append(chunk.data(), static_cast<std::size_t>(n));
        } else if (n == 0) {
            fd.reset();
        } else if (errno != EINTR) {
            return;  // EAGAIN: nothing more for now
        }
    }
}

bool child_process::capture::find(std::string_view wanted) {
    const auto at = text.find(wanted, searched);
    if (at == std::string::npos) return false;
    searched = at + wanted.size();
    return true;
}

child_process::child_process(const std::function<void()>& in_child) {
    pipe_ends in = make_pipe();
    pipe_ends out = make_pipe();
    pipe_ends err = make_pipe();
    std::fflush(nullptr);  // or the child might print what the parent had buffered

    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);  // the parent died before the line above
        ::signal(SIGPIPE, SIG_DFL);
        ::dup2(in.read.get(), STDIN_FILENO);
        ::dup2(out.write.get(), STDOUT_FILENO);
        ::dup2(err.write.get(), STDERR_FILENO);
        // A copy of the parent's sockets here would keep connections open that the parent has closed.
        ::syscall(SYS_close_range, 3U, ~0U, 0U);
        in_child();
        ::_exit(127);
    }
    pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0U)));
    if (!pidfd_) {
        const int error = errno;
        kill();
        throw std::system_error{error, std::generic_category(), "pidfd_open"};
    }
    in_ = std::move(in.write);
    out_.fd = std::move(out.read);
    err_.fd = std::move(err.read);
    for (const int fd : {out_.fd.get(), err_.fd.get()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

child_process::child_process(const std::vector<std::string>& argv, const environment& extra)
    : child_process([it = std::make_shared<const prepared_program>(argv, extra)] {
          ::execvpe(it->arguments[0], it->arguments.data(), it->environment.data());
          static constexpr std::string_view message = "child_process: the program cannot be started\n";
          [[maybe_unused]] const auto n = ::write(STDERR_FILENO, message.data(), message.size());
      }) {}

child_process child_process::fork_call(const std::function<int(const parent_link&)>& body) {
    return child_process{[&body] {
        int code = 70;
        try {
            code = body(parent_link{});
        } catch (const std::exception& e) {
            std::fprintf(stderr, "exception in a forked child: %s\n", e.what());
        }
        std::fflush(nullptr);
        // Not exit: the parent's static objects and its test report are not the child's to finish.
        ::_exit(code);
    }};
}

child_process::child_process(child_process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      exit_(other.exit_),
      pidfd_(std::move(other.pidfd_)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)) {}

child_process& child_process::operator=(child_process&& other) noexcept {
    if (this != &other) {
        kill();
        pid_ = std::exchange(other.pid_, -1);
        exit_ = other.exit_;
        pidfd_ = std::move(other.pidfd_);
        in_ = std::move(other.in_);
        out_ = std::move(other.out_);
        err_ = std::move(other.err_);
    }
    return *this;
}

child_process::~child_process() { kill(); }

void child_process::write(std::string_view text) {
    // `wait` notices a child that has ended; SIGPIPE must not end the test instead.
    struct sigaction ignore {};
    struct sigaction before {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &before);
    while (!text.empty()) {
        const auto n = ::write(in_.get(), text.data(), text.size());
        if (n < 0 && errno != EINTR) break;
        if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
    }
    ::sigaction(SIGPIPE, &before, nullptr);
}

// Returns when it has read something, when the child has ended, or at the deadline.
void child_process::poll_until(steady_clock::time_point deadline) {
    std::array<pollfd, 3> fds{
        {{out_.fd.get(), POLLIN, 0}, {err_.fd.get(), POLLIN, 0}, {pidfd_.get(), POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), milliseconds_to(deadline));
    int status = 0;
    if (!exit_ && ::waitpid(pid_, &status, WNOHANG) == pid_) reap(status);
    // After the wait, so that what the child wrote last is in `output()` once its end is known.
    out_.drain();
    err_.drain();
}

bool child_process::wait_for_output(std::string_view text, milliseconds limit) {
    const auto deadline = steady_clock::now() + limit;
    for (;;) {
        if (out_.find(text) || err_.find(text)) return true;
        if (exit_ || steady_clock::now() >= deadline) {
            poll_until(steady_clock::now());
            return out_.find(text) || err_.find(text);
        }
        poll_until(deadline);
    }
}

std::optional<int> child_process::wait(milliseconds limit) {
    const auto deadline = steady_clock::now() + limit;
    while (!exit_ && pid_ > 0) {
        poll_until(deadline);
        if (steady_clock::now() >= deadline) break;
    }
    return exit_;
}

void child_process::reap(int status) noexcept {
    exit_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    pidfd_.reset();
}

void child_process::signal(int number) {
    if (pid_ > 0 && !exit_) ::kill(pid_, number);
}

void child_process::pause() {
    signal(SIGSTOP);
    siginfo_t info{};
    if (pid_ > 0 && !exit_) ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT);
}

void child_process::resume() { signal(SIGCONT); }

void child_process::kill() {
    if (pid_ <= 0 || exit_) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    reap(status);
    out_.drain();
    err_.drain();
}

std::string command_line_of(pid_t pid) {
    std::ifstream about{"/proc/" + std::to_string(pid) + "/cmdline"};
    std::ostringstream line;
    line << about.rdbuf();  // an iterator would throw if the process ends during the read
    return line.str();
}

}  // namespace holdfast::test
