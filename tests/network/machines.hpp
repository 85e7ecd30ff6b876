// Machines with cables that can be pulled: processes in network namespaces of their own. Packets over a
// pulled cable vanish, and neither end is notified, which no proxy can do.
#pragma once

#include "support/child_process.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::test {

// Moves this process into a network of its own, with nothing in it but 127.0.0.1, for good. Needs root,
// `ip` and `nsenter`. Returns why it could not; empty: done. Call it once for all tests of a program,
// before there are threads.
[[nodiscard]] std::string move_to_own_network();

// A machine with one cable to this process, or several. Its process has only the calling thread, so it can
// have clients of its own. Nothing of it is left when the process has ended, however it ended: a namespace
// goes with the last process in it, and its cables with it.
class machine {
  public:
    // `body` receives the addresses of this process as the machine sees them: one for each cable, the same
    // for all machines.
    using body = std::function<int(const parent_link&, const std::vector<std::string>& addresses)>;

    explicit machine(const body& runs, std::size_t cables = 1);

    [[nodiscard]] child_process& process() noexcept { return process_; }

    // Pulls this cable. No connection over it is notified.
    void pull(std::size_t which = 0);
    // Returns when packets pass again.
    void plug_in(std::size_t which = 0);
    // Cuts one direction: the machine sends in vain, and still receives everything.
    void mute(std::size_t which = 0);
    // Cuts the other: it receives nothing, and still sends with success.
    void deafen(std::size_t which = 0);
    // Ends both.
    void heal(std::size_t which = 0);

  private:
    struct cable {
        unsigned number;
        bool mute = false;
        bool deaf = false;
    };

    // The command that runs this one on the machine.
    [[nodiscard]] std::vector<std::string> on_machine(std::vector<std::string> command) const;
    void lay(std::size_t which) const;

    std::vector<cable> cables_;
    child_process process_;
};

}  // namespace holdfast::test
