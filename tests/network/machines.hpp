// Machines with cables that can be pulled: processes in network namespaces of their own. What is sent over a
// cable that is pulled vanishes, and nobody is told, as no proxy can do it.
#pragma once

#include "support/child_process.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::test {

// This process moves into a network of its own, with nothing in it but 127.0.0.1, and stays there. Needs to
// be root, and `ip` and `nsenter`. Returns why it could not; empty: done. Once for all tests of a program,
// before there are threads.
[[nodiscard]] std::string move_to_own_network();

// A machine with one cable to this process, or several. Its process has only the calling thread, so it can
// have clients of its own. Nothing of it is left when the process has ended, however that came about: a
// namespace goes with the last process in it, and its cables with it.
class machine {
  public:
    // `body` is given this process's addresses as seen from there: one for each cable, the same for all
    // machines.
    using body = std::function<int(const parent_link&, const std::vector<std::string>& addresses)>;

    explicit machine(const body& runs, std::size_t cables = 1);

    [[nodiscard]] child_process& process() noexcept { return process_; }

    // Which cable. No connection over it is told.
    void pull(std::size_t which = 0);
    // Returns when what is sent passes again.
    void plug_in(std::size_t which = 0);
    // One direction alone: what it says reaches nobody, and it hears all that is said to it.
    void mute(std::size_t which = 0);
    // The other: it hears nothing, and all hear it.
    void deafen(std::size_t which = 0);
    // The end of both.
    void heal(std::size_t which = 0);

  private:
    struct cable {
        unsigned number;
        bool mute = false;
        bool deaf = false;
    };

    // A command that is carried out on that machine.
    [[nodiscard]] std::vector<std::string> on_machine(std::vector<std::string> command) const;
    void lay(std::size_t which) const;

    std::vector<cable> cables_;
    child_process process_;
};

}  // namespace holdfast::test
