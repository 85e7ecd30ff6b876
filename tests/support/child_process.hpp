// Another process: a program, or a function of this one in a forked child. For tests of processes that die,
// hang or are stopped.
#pragma once

#include "support/unique_fd.hpp"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {

// Links the function given to `fork_call` to its parent. Both calls end the child if the parent has ended.
class parent_link {
  public:
    // The line appears in the parent's `output()`.
    void report(std::string_view line) const;
    // Blocks until the parent has written a line.
    [[nodiscard]] std::string await_line() const;
};

// A child whose standard input, output and errors are pipes to this object. Killed and reaped by the
// destructor, and by the kernel if the thread that started it ends first: start children from the test's own
// thread.
//
// Not thread-safe. Functions with a limit read the pipes meanwhile, so a talkative child does not block for
// long. Nothing reads them at other times.
class child_process {
  public:
    using milliseconds = std::chrono::milliseconds;
    using environment = std::vector<std::pair<std::string, std::string>>;

    // Starts argv[0], searched in PATH, with `extra` on top of this process's environment.
    // A program that cannot be started exits with 127, as in a shell.
    explicit child_process(const std::vector<std::string>& argv, const environment& extra = {});

    // Runs `body` in a forked copy of this process. Its result is the exit code; an exception makes it 70 and
    // goes to `errors()`. The copy has no descriptors but its three pipes, and only the calling thread: it
    // cannot use the parent's connections and clients, so make new ones inside. Thread sanitizer does not
    // support new threads in a fork of a process with several; call this while the test has no threads yet.
    [[nodiscard]] static child_process fork_call(const std::function<int(const parent_link&)>& body);

    child_process(child_process&&) noexcept;
    child_process& operator=(child_process&&) noexcept;
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;
    ~child_process();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    // Everything read so far; `wait` reads to the end.
    [[nodiscard]] const std::string& output() const noexcept { return out_.text; }
    [[nodiscard]] const std::string& errors() const noexcept { return err_.text; }

    void write(std::string_view text);
    void close_input() { in_.reset(); }

    // True as soon as standard output or errors contain `text` at or after what an earlier call has found.
    // False if the limit passes, or the child ends, without it.
    [[nodiscard]] bool wait_for_output(std::string_view text, milliseconds limit);

    // The exit code, or 128 + the signal that ended it; nothing if it still runs at the limit.
    [[nodiscard]] std::optional<int> wait(milliseconds limit);
    [[nodiscard]] bool running() { return !wait(milliseconds{0}).has_value(); }

    // Sends a signal; nothing happens if the child has ended.
    void signal(int number);
    // SIGSTOP. Returns when the child has stopped.
    void pause();
    void resume();
    // SIGKILL, and reaps it.
    void kill();

  private:
    struct capture {
        unique_fd fd;
        std::string text;
        std::size_t searched = 0;

        void drain();
        [[nodiscard]] bool find(std::string_view wanted);
    };

    explicit child_process(const std::function<void()>& in_child);

    void poll_until(std::chrono::steady_clock::time_point deadline);
    void reap(int status) noexcept;

    pid_t pid_ = -1;
    std::optional<int> exit_;
    unique_fd pidfd_;  // readable when the child has ended
    unique_fd in_;
    capture out_;
    capture err_;
};

// The command line of any process; empty if it has ended. Does not throw if it ends meanwhile.
[[nodiscard]] std::string command_line_of(pid_t pid);

}  // namespace holdfast::test
