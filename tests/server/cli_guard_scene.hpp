// A command under its guard, and functions that show which processes exist, and in which state.
#pragma once

#include "server/cli_scene.hpp"
#include "support/send_signal.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test::cli {

class guarded_command : public command_test {
  protected:
    // Kills what a failed test has left behind.
    ~guarded_command() override {
        for (const auto pid : pids_) {
            if (pid > 0 && !is_dead(pid)) send_signal(pid, SIGKILL);
        }
    }
    pid_t pid_of(child_process& command, const std::string& name) {
        pids_.push_back(printed_pid(command, name));
        EXPECT_GT(pids_.back(), 0) << name << command.errors();
        return pids_.back();
    }
    std::vector<pid_t> pids_of(child_process& command, const words& names) {
        std::vector<pid_t> all;
        for (const auto& name : names) all.push_back(pid_of(command, name));
        return all;
    }
    [[nodiscard]] bool is_renewed() {
        auto left = server.command({"PTTL", "a"}).number;
        return eventually(patience, [&] {
            const auto before = std::exchange(left, server.command({"PTTL", "a"}).number);
            return left > before;
        });
    }

  private:
    std::vector<pid_t> pids_;
};

inline std::string line_of(pid_t pid, const std::string& field) {
    std::ifstream about{"/proc/" + std::to_string(pid) + "/status"};
    for (std::string line; std::getline(about, line);) {
        if (line.starts_with(field)) return line.substr(field.size());
    }
    return {};
}
inline pid_t parent_of(pid_t pid) { return std::atoi(line_of(pid, "PPid:").c_str()); }
inline bool is_asleep(pid_t pid) { return line_of(pid, "State:").find('S') != std::string::npos; }
inline bool is_stopped(pid_t pid) { return line_of(pid, "State:").find('T') != std::string::npos; }

// Processes that are hard to end: in another session, with another parent, or deaf to TERM.
inline constexpr auto family =
    "echo \"main: $$\"; sleep 100 & echo \"plain: $!\"; "
    "setsid sleep 100 & echo \"session: $!\"; "
    "(trap '' TERM; exec sleep 100) & echo \"deaf: $!\"; "
    "(setsid sh -c 'echo \"orphan: $$\"; sleep 100 & echo \"inner: $!\"; wait' &); "
    "wait";
inline const words members{"main", "plain", "session", "deaf", "orphan", "inner"};

inline bool all_dead(const std::vector<pid_t>& pids) { return std::ranges::all_of(pids, is_dead); }

inline constexpr auto one_is_left_alone =
    "holdfast: 1 process that the command started is still running, without the lock\n";

}  // namespace holdfast::test::cli
