// `holdfast run` with policies (policy.hpp).
#include "server/cli_scene.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace holdfast::test::cli {
namespace {

class run_with_policies : public command_test {
  protected:
    run_with_policies() {
        std::ofstream{config} << "answer_timeout = " << (slower > 1 ? 6000 : 2000) << "ms\n"
                              << "policy.nightly.outage = fail_open_host\n"
                              << "policy.nightly.match = nightly:*\n"
                              << "policy.nightly.substitute = file:" << (folder.path() / "locks").string()
                              << "\n"
                              << "policy.shop.outage = fail_open_process\n"
                              << "policy.shop.match = shop:*\n";
    }
    [[nodiscard]] words configured(words arguments) const {
        arguments.insert(arguments.begin(), {"--config", config, "--url", server.url()});
        return arguments;
    }
    [[nodiscard]] outcome run_configured(words arguments) const {
        auto command = start_command(configured(std::move(arguments)));
        return outcome_of(command);
    }

    const temp_dir folder;
    const std::string config = (folder.path() / "holdfast.conf").string();
};

TEST_F(run_with_policies, runs_the_command_while_the_store_is_away) {
    const words job{"run", "nightly:report", "--", "sh", "-c", "echo $HOLDFAST_STRENGTH"};
    EXPECT_EQ(run_configured(job).output, "single\n");
    server.stop();
    const auto alone = run_configured(job);
    EXPECT_EQ(alone.code, 0);
    EXPECT_EQ(alone.output, "host_local\n");
    EXPECT_NE(alone.errors.find("without the store"), std::string::npos) << alone.errors;
    EXPECT_EQ(run_configured({"run", "-n", "other", "--", "true"}).code, 69);
    EXPECT_EQ(run_configured({"run", "-n", "--policy", "nightly", "other", "--", "true"}).code, 0);
}

TEST_F(run_with_policies, excludes_other_commands_of_the_machine) {
    server.stop();
    auto holder =
        start_command(configured({"run", "nightly:report", "--", "sh", "-c", "echo held; read x; true"}));
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    EXPECT_EQ(run_configured({"run", "-n", "nightly:report", "--", "true"}).code, 1);
    holder.close_input();
    EXPECT_EQ(holder.wait(patience), 0);
    EXPECT_EQ(run_configured({"run", "-n", "nightly:report", "--", "true"}).code, 0);
}

TEST_F(run_with_policies, keeps_the_lock_of_a_killed_run_until_its_command_has_ended) {
    server.stop();
    const auto mark = (folder.path() / "mark").string();
    auto holder = start_command(configured({"run", "--grace", "500ms", "nightly:report", "--", "sh", "-c",
                                            "trap '' TERM; echo held; while :; do date +%s%N > \"$0\"; sleep "
                                            "0.01; done",
                                            mark}));
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    ASSERT_TRUE(eventually(patience, [&] { return std::filesystem::exists(mark); }));
    holder.signal(SIGKILL);
    const auto now = [&] {
        std::ifstream file(mark);
        return std::string{std::istreambuf_iterator<char>{file}, {}};
    };
    auto next =
        start_command(configured({"run", "nightly:report", "--", "sh", "-c", "echo mine; read x; true"}));
    ASSERT_TRUE(next.wait_for_output("mine", patience)) << next.errors();
    const auto at_the_grant = now();
    EXPECT_FALSE(eventually(200ms, [&] { return now() != at_the_grant; })) << "the command still works";
    next.close_input();
    EXPECT_EQ(next.wait(patience), 0);
}

TEST_F(run_with_policies, refuses_a_lock_that_is_too_weak) {
    const words strong{"run", "-n", "--at-least-strength", "single", "nightly:report", "--", "true"};
    EXPECT_EQ(run_configured(strong).code, 0);
    server.stop();
    const auto refused = run_configured(strong);
    EXPECT_EQ(refused.code, 69);
    EXPECT_NE(refused.errors.find("host_local"), std::string::npos) << refused.errors;
    EXPECT_EQ(run_configured({"run", "--at-least-strength", "single", "--weak-exit-code", "42",
                              "nightly:report", "--", "true"})
                  .code,
              42);
}

TEST_F(run_with_policies, says_what_is_wrong_with_a_policy) {
    const auto unknown = run_configured({"run", "--policy", "weekly", "a", "--", "true"});
    EXPECT_EQ(unknown.code, 64);
    EXPECT_NE(unknown.errors.find("\"nightly\""), std::string::npos) << unknown.errors;
    const auto alone = run_configured({"run", "--policy", "shop", "a", "--", "true"});
    EXPECT_EQ(alone.code, 64);
    EXPECT_NE(alone.errors.find("fail_open_host"), std::string::npos) << alone.errors;
    EXPECT_EQ(run_configured({"run", "--weak-exit-code", "3", "a", "--", "true"}).code, 64);
    EXPECT_EQ(run_configured({"run", "--at-least-strength", "strong", "a", "--", "true"}).code, 64);
}

// They are for programs that share the configuration.
TEST_F(run_with_policies, fails_closed_where_a_policy_of_processes_matches) {
    EXPECT_EQ(run_configured({"run", "-n", "shop:42", "--", "true"}).code, 0);
    server.stop();
    EXPECT_EQ(run_configured({"run", "-n", "shop:42", "--", "true"}).code, 69);
}

TEST_F(run_with_policies, opens_no_substitute_for_a_command_that_takes_no_lock) {
    EXPECT_EQ(run_configured({"ls"}).code, 0);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "locks"));
}

}  // namespace
}  // namespace holdfast::test::cli
