// A server and the command that talks to it.
#pragma once

#include "support/child_process.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/sanitizers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test::cli {

using namespace std::chrono_literals;
using words = std::vector<std::string>;

struct outcome {
    int code = -1;
    std::string output;
    std::string errors;
};

// The `--ttl` of a command that must renew, or react, before the lease ends: longer than a machine that runs
// a sanitizer stalls.
inline std::string lasting(std::chrono::seconds ttl) {
    return std::to_string((slower > 1 ? 3 * ttl : ttl).count()) + "s";
}

// Starts `holdfast WORDS...`.
inline child_process start_command(words arguments, const child_process::environment& extra = {}) {
    arguments.insert(arguments.begin(), HOLDFAST_COMMAND);
    return child_process{arguments, extra};
}

inline outcome outcome_of(child_process& command, std::chrono::milliseconds within = patience) {
    command.close_input();
    const auto code = command.wait(within);
    EXPECT_TRUE(code) << "it does not end; its output: " << command.output() << command.errors();
    return {code.value_or(-1), command.output(), command.errors()};
}

class command_test : public testing::Test {
  protected:
    // The environment holds the URL, as it would hold a secret.
    [[nodiscard]] child_process start(words arguments, child_process::environment extra = {}) const {
        extra.emplace_back("HOLDFAST_URL", server.url());
        return start_command(std::move(arguments), extra);
    }
    [[nodiscard]] outcome run(words arguments, child_process::environment extra = {}) const {
        auto command = start(std::move(arguments), std::move(extra));
        return outcome_of(command);
    }
    // $0 is the holdfast command.
    [[nodiscard]] child_process start_shell(const std::string& script) const {
        return child_process{{"sh", "-c", script, HOLDFAST_COMMAND}, {{"HOLDFAST_URL", server.url()}}};
    }

    void hold_as_another_client(const std::string& name) {
        ASSERT_EQ(server.command({"SET", name, "foreign", "PX", "600000"}).text, "OK");
    }
    void free_as_another_client(const std::string& name) {
        ASSERT_EQ(server.command({"DEL", name}).number, 1);
    }
    [[nodiscard]] bool is_held(const std::string& name) {
        return server.command({"EXISTS", name}).number == 1;
    }

    redis_server server;
};

// Waits for "NAME: PID" in the command's output. Returns the pid, or 0 if it does not come.
inline pid_t printed_pid(child_process& command, const std::string& name) {
    if (!command.wait_for_output(name + ": ", patience) || !command.wait_for_output("\n", patience)) return 0;
    return std::stoi(command.output().substr(command.output().find(name + ": ") + name.size() + 2));
}

// The kernel is ending it.
inline bool is_exiting(pid_t pid) {
    constexpr unsigned long pf_exiting = 4;
    std::ifstream about{"/proc/" + std::to_string(pid) + "/stat"};
    std::string text;
    std::getline(about, text);
    std::istringstream behind_its_name{text.substr(text.rfind(')') + 1)};
    std::string skipped;
    for (int i = 0; i < 6; ++i) behind_its_name >> skipped;  // state, ppid, pgrp, session, tty, tpgid
    unsigned long flags = 0;
    return behind_its_name >> flags && (flags & pf_exiting) != 0;
}

// It runs none of its own code any more: it is dead, a zombie (unless only its main thread has ended), or
// KILL has reached it and it waits for a processor to end on.
inline bool is_dead(pid_t pid) {
    std::ifstream about{"/proc/" + std::to_string(pid) + "/status"};
    bool zombie = false;
    bool killed = false;
    int threads = 0;
    for (std::string line; std::getline(about, line);) {
        const auto value = line.substr(std::min(line.find(':') + 1, line.size()));
        if (line.starts_with("State:")) zombie = value.find('Z') != std::string::npos;
        if (line.starts_with("Threads:")) threads = std::stoi(value);
        if (line.starts_with("SigPnd:") || line.starts_with("ShdPnd:"))
            killed = killed || (std::stoull(value, nullptr, 16) >> (SIGKILL - 1) & 1) != 0;
    }
    return threads == 0 || (zombie && threads == 1) || killed || is_exiting(pid);
}

}  // namespace holdfast::test::cli
