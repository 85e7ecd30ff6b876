// A process that lives no longer than this one.
#pragma once

#include "cli/unique_fd.hpp"

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli::stage {

// Started in the constructor, killed and reaped in the destructor. The kernel kills it if this process dies
// first. The keys of a terminal (Ctrl-C and the like) do not reach it: they are for the parent, which then
// ends all of them.
//
// Make one only on the main thread: the kernel takes the end of the thread that made it for the end of the
// parent. Thread safety: none. Throws std::system_error if it cannot be started.
class helper {
  public:
    enum class talk {
        none,   // reads and writes /dev/null
        lines,  // say() is its standard input, next_line() its standard output
    };

    // The first word is what `ps` calls it.
    helper(const std::filesystem::path& program, const std::vector<std::string>& words, talk with);
    helper(const helper&) = delete;
    helper& operator=(const helper&) = delete;
    ~helper();

    // Nothing happens if it has ended.
    void say(std::string_view line) noexcept;

    // Readable when it said something or has ended.
    [[nodiscard]] int fd() const noexcept { return out_.get(); }
    // What it said next; empty when it has said no more yet. Does not block.
    [[nodiscard]] std::optional<std::string> next_line();
    // It has closed its output and everything was read.
    [[nodiscard]] bool silent() const noexcept { return ended_ && unread_.find('\n') == std::string::npos; }

    // Sends it a signal. Nothing happens if it has ended.
    void signal(int number) noexcept;
    // After a SIGSTOP: returns when it stands still, or has ended.
    void wait_until_stopped() noexcept;

    // What wait() says of it, once it has ended. Does not block.
    [[nodiscard]] std::optional<int> status() noexcept;

  private:
    pid_t pid_ = -1;
    std::optional<int> status_;
    unique_fd in_;
    unique_fd out_;
    std::string unread_;
    bool ended_ = false;
};

}  // namespace holdfast::cli::stage
