// A command under its guard, and what tests look at: which processes there are, and in which state.
#pragma once

#include "server/cli_scene.hpp"

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
        for (const auto pid : told_) {
            if (pid > 0 && !is_dead(pid)) ::kill(pid, SIGKILL);
        }
    }
    pid_t told(child_process& command, const std::string& name) {
        told_.push_back(pid_told(command, name));
        EXPECT_GT(told_.back(), 0) << name << command.errors();
        return told_.back();
    }
    std::vector<pid_t> all_told(child_process& command, const words& names) {
        std::vector<pid_t> all;
        for (const auto& name : names) all.push_back(told(command, name));
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
    std::vector<pid_t> told_;
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

// Goes wherever a process can go: to another session, to another parent, and does not listen.
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
