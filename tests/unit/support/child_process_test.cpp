#include "support/child_process.hpp"

#include "support/eventually.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <stdexcept>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

TEST(child_process, exit_code_is_what_the_program_returned) {
    child_process child{{"sh", "-c", "exit 7"}};
    EXPECT_EQ(child.wait(patience), 7);
}

TEST(child_process, exit_code_of_a_killed_program_names_the_signal) {
    child_process child{{"sleep", "1000"}};
    EXPECT_TRUE(child.running());
    child.signal(SIGTERM);
    EXPECT_EQ(child.wait(patience), 128 + SIGTERM);
}

TEST(child_process, missing_program_exits_with_127_as_in_a_shell) {
    child_process child{{"/nonexistent/program"}};
    EXPECT_EQ(child.wait(patience), 127);
    EXPECT_NE(child.errors(), "");
}

TEST(child_process, wait_gives_up_at_its_limit) {
    child_process child{{"sleep", "1000"}};
    EXPECT_EQ(child.wait(1ms), std::nullopt);
}

TEST(child_process, all_output_is_available_after_wait) {
    child_process child{{"sh", "-c", "seq 1 50000; echo oops >&2"}};
    EXPECT_EQ(child.wait(patience), 0);
    EXPECT_TRUE(child.output().ends_with("49999\n50000\n"));
    EXPECT_EQ(child.errors(), "oops\n");
}

TEST(child_process, reads_and_writes_its_pipes) {
    child_process child{{"cat"}};
    child.write("hello\n");
    EXPECT_TRUE(child.wait_for_output("hello", patience));
    child.close_input();
    EXPECT_EQ(child.wait(patience), 0);
}

TEST(child_process, wait_for_output_finds_each_occurrence_once) {
    child_process child{{"sh", "-c", "echo again; echo again"}};
    EXPECT_TRUE(child.wait_for_output("again", patience));
    EXPECT_TRUE(child.wait_for_output("again", patience));
    EXPECT_FALSE(child.wait_for_output("again", patience));
}

TEST(child_process, environment_is_added_to_the_parents) {
    child_process child{{"sh", "-c", "echo $HOLDFAST_COLOUR; test -n \"$PATH\""},
                        {{"HOLDFAST_COLOUR", "blue"}}};
    EXPECT_EQ(child.wait(patience), 0);
    EXPECT_EQ(child.output(), "blue\n");
}

TEST(child_process, paused_child_does_nothing_until_it_is_resumed) {
    child_process child{{"cat"}};
    child.pause();
    child.write("hello\n");
    EXPECT_FALSE(child.wait_for_output("hello", 50ms));
    child.resume();
    EXPECT_TRUE(child.wait_for_output("hello", patience));
}

TEST(child_process, destructor_kills_and_leaves_nothing_open) {
    const auto before = count_open_fds();
    pid_t pid = -1;
    {
        const child_process child{{"sleep", "1000"}};
        pid = child.pid();
    }
    EXPECT_NE(::kill(pid, 0), 0);
    EXPECT_EQ(count_open_fds(), before);
}

TEST(child_process, forked_function_reports_and_receives) {
    const int multiplier = 6;
    auto child = child_process::fork_call([&](const parent_link& parent) {
        parent.report("ready");
        return multiplier * std::stoi(parent.await_line());
    });
    ASSERT_TRUE(child.wait_for_output("ready\n", patience));
    child.write("7\n");
    EXPECT_EQ(child.wait(patience), 42);
}

TEST(child_process, exception_in_a_forked_function_is_reported) {
    auto child =
        child_process::fork_call([](const parent_link&) -> int { throw std::runtime_error{"out of luck"}; });
    EXPECT_EQ(child.wait(patience), 70);
    EXPECT_NE(child.errors().find("out of luck"), std::string::npos);
}

TEST(child_process, forked_function_ends_when_the_parent_closes_its_input) {
    auto child = child_process::fork_call([](const parent_link& parent) {
        (void)parent.await_line();
        return 0;
    });
    child.close_input();
    EXPECT_EQ(child.wait(patience), 1);
}

TEST(child_process, forked_function_has_no_descriptors_of_the_parent) {
    auto child =
        child_process::fork_call([](const parent_link&) { return static_cast<int>(count_open_fds()); });
    EXPECT_EQ(child.wait(patience), 3);
}

}  // namespace
}  // namespace holdfast::test
