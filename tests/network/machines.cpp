#include "network/machines.hpp"

#include "support/eventually.hpp"

#include <sched.h>

#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

// The error of a command that fails; empty: it did not.
std::string complaint_of(const std::vector<std::string>& command) {
    child_process program{command};
    const auto code = program.wait(patience);
    if (code == 0) return {};
    std::string all;
    for (const auto& word : command) all += word + " ";
    return all + "ended with " + (code ? std::to_string(*code) : "nothing") + ": " + program.errors();
}

void must_run(const std::vector<std::string>& command) {
    if (const auto complaint = complaint_of(command); !complaint.empty()) throw std::runtime_error{complaint};
}

// The network has its own tables, so any numbers will do. This process has one address for the first cable
// of each machine, one for the second and so on: all machines receive the same addresses.
std::string parent_address(std::size_t which) { return "10.78.0." + std::to_string(which + 1); }
std::string machine_address(unsigned cable) {
    return "10.77." + std::to_string(cable / 200) + "." + std::to_string(cable % 200 + 1);
}

std::string cable_of(unsigned number) { return "cable" + std::to_string(number); }
std::string uplink_of(unsigned number) { return "uplink" + std::to_string(number); }

// Sends packets for an address over this device to a card that does not exist. The receiver drops them as
// not meant for it, and does not answer. (A blackhole route would notify the sender at once: connect()
// fails there.)
std::vector<std::string> lose_packets_to(const std::string& address, const std::string& device) {
    return {"ip",  "neigh", "replace", address,    "lladdr", "02:00:00:00:00:01",
            "dev", device,  "nud",     "permanent"};
}
std::vector<std::string> stop_losing_packets_to(const std::string& address, const std::string& device) {
    return {"ip", "neigh", "delete", address, "dev", device};
}

// The kernel drops packets over a cable that was just plugged in, for up to a second.
void await_up(std::vector<std::string> show) {
    const bool up = eventually(patience, [&] {
        child_process program{show};
        return program.wait(patience) == 0 && program.output().find("state UP") != std::string::npos;
    });
    if (!up) throw std::runtime_error{"a cable that was plugged in does not come up"};
}

unsigned next_number() {
    static unsigned last = 0;
    return ++last;
}

}  // namespace

std::string move_to_own_network() {
    for (const auto* tool : {"ip", "nsenter"}) {
        if (const auto complaint = complaint_of({tool, "-V"}); !complaint.empty()) return complaint;
    }
    if (::unshare(CLONE_NEWNET) != 0)
        return "no network of its own for this process (root has the right to it): " +
               std::generic_category().message(errno);
    if (const auto complaint = complaint_of({"ip", "link", "set", "lo", "up"}); !complaint.empty())
        return complaint;
    if (const auto complaint = complaint_of({"ip", "link", "add", "probe", "type", "veth"});
        !complaint.empty())
        return complaint;
    return complaint_of({"ip", "link", "delete", "probe"});
}

machine::machine(const body& runs, std::size_t cables)
    : cables_([cables] {
          std::vector<cable> all(cables);
          for (auto& c : all) c.number = next_number();
          return all;
      }()),
      process_(child_process::fork_call([&runs, this](const parent_link& parent) {
          if (::unshare(CLONE_NEWNET) != 0)
              throw std::system_error{errno, std::generic_category(), "unshare"};
          parent.report("moved");
          (void)parent.await_line();  // there are cables
          std::vector<std::string> addresses;
          for (std::size_t c = 0; c < cables_.size(); ++c) addresses.push_back(parent_address(c));
          return runs(parent, addresses);
      })) {
    if (!process_.wait_for_output("moved\n", patience))
        throw std::runtime_error{"a machine does not come up: " + process_.errors()};
    for (std::size_t c = 0; c < cables_.size(); ++c) lay(c);
    process_.write("there are cables\n");
}

std::vector<std::string> machine::on_machine(std::vector<std::string> command) const {
    command.insert(command.begin(), {"nsenter", "-t", std::to_string(process_.pid()), "-n"});
    return command;
}

void machine::lay(std::size_t which) const {
    const auto number = cables_[which].number;
    const auto name = cable_of(number), uplink = uplink_of(number);
    const auto ours = parent_address(which), theirs = machine_address(number);
    must_run({"ip", "link", "add", name, "type", "veth", "peer", "name", uplink, "netns",
              std::to_string(process_.pid())});
    must_run({"ip", "address", "add", ours, "peer", theirs, "dev", name});
    must_run({"ip", "link", "set", name, "up"});
    must_run(on_machine({"ip", "address", "add", theirs, "peer", ours, "dev", uplink}));
    must_run(on_machine({"ip", "link", "set", uplink, "up"}));
    await_up({"ip", "link", "show", name});
    await_up(on_machine({"ip", "link", "show", uplink}));
}

void machine::pull(std::size_t which) {
    must_run({"ip", "link", "set", cable_of(cables_.at(which).number), "down"});
}

void machine::plug_in(std::size_t which) {
    const auto name = cable_of(cables_.at(which).number);
    must_run({"ip", "link", "set", name, "up"});
    await_up({"ip", "link", "show", name});
}

void machine::mute(std::size_t which) {
    auto& c = cables_.at(which);
    must_run(on_machine(lose_packets_to(parent_address(which), uplink_of(c.number))));
    c.mute = true;
}

void machine::deafen(std::size_t which) {
    auto& c = cables_.at(which);
    must_run(lose_packets_to(machine_address(c.number), cable_of(c.number)));
    c.deaf = true;
}

void machine::heal(std::size_t which) {
    auto& c = cables_.at(which);
    if (std::exchange(c.mute, false))
        must_run(on_machine(stop_losing_packets_to(parent_address(which), uplink_of(c.number))));
    if (std::exchange(c.deaf, false))
        must_run(stop_losing_packets_to(machine_address(c.number), cable_of(c.number)));
}

}  // namespace holdfast::test
