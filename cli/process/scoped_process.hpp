// A child process that lives no longer than this process.
#pragma once

#include "cli/process/unique_fd.hpp"

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// The constructor starts it, the destructor kills and reaps it. The kernel kills it if this process dies
// first. The keys of a terminal (Ctrl-C and the like) do not reach it: they are for the parent, which then
// ends all child processes.
//
// Create it only on the main thread: the kernel takes the end of the thread that created it for the end of
// the parent. Thread safety: none. Throws std::system_error if it cannot be started.
class scoped_process {
  public:
    enum class talk {
        none,   // reads and writes /dev/null
        lines,  // say() writes its standard input, next_line() reads its standard output
    };

    // `ps` shows the first word as its name.
    scoped_process(const std::filesystem::path& program, const std::vector<std::string>& words, talk with);
    scoped_process(const scoped_process&) = delete;
    scoped_process& operator=(const scoped_process&) = delete;
    ~scoped_process();

    // Writes a line to its standard input. Does nothing if it has ended.
    void say(std::string_view line) noexcept;

    // Readable when it has written something or has ended.
    [[nodiscard]] int fd() const noexcept { return out_.get(); }
    // The next line of its output; empty if there is none yet. Does not block.
    [[nodiscard]] std::optional<std::string> next_line();
    // True when it has closed its output and all lines are read.
    [[nodiscard]] bool silent() const noexcept { return ended_ && unread_.find('\n') == std::string::npos; }

    // Sends it a signal. Does nothing if it has ended.
    void signal(int number) noexcept;
    // After a SIGSTOP: blocks until it is stopped or has ended.
    void wait_until_stopped() noexcept;

    // Its wait() status, once it has ended. Does not block.
    [[nodiscard]] std::optional<int> status() noexcept;

  private:
    pid_t pid_ = -1;
    std::optional<int> status_;
    unique_fd in_;
    unique_fd out_;
    std::string unread_;
    bool ended_ = false;
};

}  // namespace holdfast::cli
