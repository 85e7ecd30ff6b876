// Signals as something to read: no handlers, so nothing races with anything.
#pragma once

#include "cli/unique_fd.hpp"

#include <csignal>
#include <optional>
#include <string>

namespace holdfast::cli {

// Catches INT, TERM, HUP, QUIT, USR1, USR2, TSTP, CONT and CHLD for the life of the process, and ignores
// PIPE. A signal that whoever started us had ignored (nohup, a shell's background job) stays ignored.
//
// Make one in main, before the first other thread: threads inherit the mask, and one that has it not would
// die of a signal that is meant to be read.
class signal_inbox {
  public:
    signal_inbox();
    signal_inbox(const signal_inbox&) = delete;
    signal_inbox& operator=(const signal_inbox&) = delete;

    // Readable when there is a signal.
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    // The next signal. Does not block.
    [[nodiscard]] std::optional<int> next() noexcept;

    // Stops this process as an uncaught TSTP would, and returns when it was continued. Does nothing where
    // nobody could continue it (an orphaned process group).
    void stop_this_process() noexcept;
    // The same for the whole process group, as the terminal's key does it for a job in the foreground. False
    // if nothing was stopped.
    bool stop_this_job() noexcept;

    // Puts the mask and the dispositions back as they were. For a child between fork and exec:
    // async-signal-safe.
    void restore() const noexcept;

  private:
    static void let_stop() noexcept;

    unique_fd fd_;
    sigset_t mask_before_{};
    struct sigaction child_before_ {};
    struct sigaction pipe_before_ {};
};

// "TERM", or "34" for a signal without a name.
[[nodiscard]] std::string signal_text(int signal);

}  // namespace holdfast::cli
