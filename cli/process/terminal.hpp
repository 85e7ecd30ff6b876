// Decides which process group may read from the terminal: job control, as a shell does it for its jobs.
#pragma once

#include "cli/process/unique_fd.hpp"

#include <sys/types.h>

namespace holdfast::cli {

// The controlling terminal, if there is one. SIGTTOU must be blocked (signal_inbox does it).
class terminal {
  public:
    terminal();

    // Whether the command gets the terminal from the start: stdin is a terminal, we are in its foreground,
    // and we do not share it with the rest of a pipeline (`holdfast run ... | less`), which would be stopped
    // when it reads a key.
    [[nodiscard]] bool to_be_given_at_start() const noexcept;

    // Our process group is in the foreground.
    [[nodiscard]] bool is_ours() const noexcept;
    [[nodiscard]] bool belongs_to(pid_t group) const noexcept;
    void give_to(pid_t group) const noexcept;
    // Takes it if `group` has it, or an empty group: `group` may have given it to others, as a shell does.
    void take_back_from(pid_t group) const noexcept;

    // -1 if there is no terminal.
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  private:
    unique_fd fd_;
};

}  // namespace holdfast::cli
