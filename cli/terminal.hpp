// Decides which process group may read from the terminal: job control, as a shell does it for its jobs.
#pragma once

#include "cli/unique_fd.hpp"

#include <sys/types.h>

namespace holdfast::cli {

// The controlling terminal, if there is one. Needs SIGTTOU blocked (signal_inbox does).
class terminal {
  public:
    terminal();

    // The command gets the terminal from the start: stdin is one, it is ours to give, and we do not share it
    // with the rest of a pipeline (`holdfast run ... | less`), which would then be stopped when it reads a
    // key.
    [[nodiscard]] bool to_be_given_at_start() const noexcept;

    // Our process group is in the foreground.
    [[nodiscard]] bool is_ours() const noexcept;
    [[nodiscard]] bool belongs_to(pid_t group) const noexcept;
    void give_to(pid_t group) const noexcept;
    // If `group` has it, or a group that nobody is left in: `group` may have handed it on, as a shell does.
    void take_back_from(pid_t group) const noexcept;

    // -1: there is none.
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  private:
    unique_fd fd_;
};

}  // namespace holdfast::cli
