// Signals that are read from a descriptor: without handlers there are no races.
#pragma once

#include "cli/process/unique_fd.hpp"

#include <csignal>
#include <optional>
#include <string>

namespace holdfast::cli {

// Catches INT, TERM, HUP, QUIT, USR1, USR2, TSTP, CONT and CHLD for the life of the process, and ignores
// PIPE. A signal that our parent had ignored (nohup, a shell's background job) stays ignored.
//
// Create it on the main thread, before any other thread: threads inherit the mask, and a signal that is meant
// to be read would kill the process through a thread without it.
class signal_inbox {
  public:
    signal_inbox();
    signal_inbox(const signal_inbox&) = delete;
    signal_inbox& operator=(const signal_inbox&) = delete;

    // Readable when there is a signal.
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    // The next signal. Does not block.
    [[nodiscard]] std::optional<int> next() noexcept;

    // Stops this process as an uncaught TSTP would, and returns when it is continued. Does nothing in an
    // orphaned process group, where nobody could continue it.
    void stop_this_process() noexcept;
    // Stops the whole process group, as Ctrl-Z does with a job in the foreground. False if nothing was
    // stopped.
    bool stop_this_job() noexcept;

    // Restores the mask and the dispositions. For a child between fork and exec: async-signal-safe.
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
