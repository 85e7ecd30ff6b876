// The program that ./dev test chaos runs.
#include "support/child_process.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

namespace holdfast::chaos {
namespace {

using namespace std::chrono_literals;
using test::child_process;
using test::eventually;

std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> all;
    for (const auto& thread :
         std::filesystem::directory_iterator{"/proc/" + std::to_string(parent) + "/task"}) {
        std::ifstream file{thread.path() / "children"};
        for (pid_t child = 0; file >> child;) all.push_back(child);
    }
    return all;
}

TEST(runner, ends_its_clients_and_servers_when_interrupted) {
    const test::temp_dir folder;
    child_process chaos{{HOLDFAST_CHAOS, "--topology", "single", "--seconds", "60", "--seed", "1", "--keep",
                         folder.path().string()}};
    std::vector<pid_t> children;
    ASSERT_TRUE(eventually(test::patience, [&] {
        children = children_of(chaos.pid());
        return children.size() == 5;  // a server, and four clients
    }));
    chaos.signal(SIGINT);
    EXPECT_EQ(chaos.wait(test::patience), 130) << chaos.output() << chaos.errors();
    EXPECT_TRUE(eventually(test::patience, [&] {
        return std::none_of(children.begin(), children.end(),
                            [](pid_t p) { return std::filesystem::exists("/proc/" + std::to_string(p)); });
    }));
}

TEST(runner, names_an_unknown_topology_or_subject) {
    for (const auto* wrong : {"--topology", "--subject"}) {
        child_process chaos{{HOLDFAST_CHAOS, wrong, "nonsense", "--seconds", "1"}};
        const auto code = chaos.wait(test::patience);
        ASSERT_TRUE(code.has_value());
        EXPECT_EQ(*code, 2);
        EXPECT_NE((chaos.output() + chaos.errors()).find("\"nonsense\""), std::string::npos)
            << chaos.output() << chaos.errors();
    }
}

TEST(runner, rejects_numbers_that_are_out_of_range) {
    for (const auto& [option, number] :
         std::vector<std::pair<std::string, std::string>>{{"--minutes", "-1"},
                                                          {"--minutes", "0"},
                                                          {"--minutes", "nan"},
                                                          {"--minutes", "1e300"},
                                                          {"--seconds", "0"},
                                                          {"--seconds", "99999999999999999999999"},
                                                          {"--lease", "0"},
                                                          {"--lease", "99999999999999999999999"},
                                                          {"--round", "0"},
                                                          {"--round", "-5"},
                                                          {"--seed", "12345678901234567890123"},
                                                          {"--seed", "-1"},
                                                          {"--plan", "0"},
                                                          {"--clients", "0"},
                                                          {"--threads", "-1"}}) {
        child_process chaos{{HOLDFAST_CHAOS, "--topology", "single", "--plan", "1", option, number}};
        EXPECT_EQ(chaos.wait(test::patience), 2) << option << ' ' << number << '\n' << chaos.output();
        EXPECT_NE(chaos.errors().find(option), std::string::npos) << chaos.errors();
    }
    child_process largest{
        {HOLDFAST_CHAOS, "--topology", "single", "--plan", "1", "--seed", "18446744073709551615"}};
    EXPECT_EQ(largest.wait(test::patience), 0) << largest.errors();
}

TEST(runner, checks_the_keep_folder_before_it_starts) {
    child_process chaos{{HOLDFAST_CHAOS, "--topology", "single", "--seconds", "60", "--keep", "/proc/nope"}};
    EXPECT_EQ(chaos.wait(test::patience), 2) << chaos.output();
    EXPECT_NE(chaos.errors().find("\"/proc/nope\""), std::string::npos) << chaos.errors();
}

TEST(runner, fails_if_it_finds_no_expected_violation) {
    const test::temp_dir folder;
    child_process chaos{{HOLDFAST_CHAOS, "--topology", "single", "--seconds", "1", "--expect-violation",
                         "--keep", folder.path().string()}};
    EXPECT_EQ(chaos.wait(test::patience), 1) << chaos.output() << chaos.errors();
    EXPECT_NE(chaos.output().find("a violation was expected"), std::string::npos) << chaos.output();
}

}  // namespace
}  // namespace holdfast::chaos
