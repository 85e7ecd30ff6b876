// `holdfast evict` and the command that held the evicted lock.
#include "server/cli_scene.hpp"
#include "server/scene.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>

#include <unistd.h>

namespace holdfast::test::cli {
namespace {

class evict_command : public command_test {
  protected:
    [[nodiscard]] child_process holder(const std::string& ttl = "3s") {
        auto one =
            start({"run", "--ttl", ttl, "--grace", "100ms", "a", "--", "sh", "-c", "echo held; read x"});
        EXPECT_TRUE(one.wait_for_output("held", patience));
        return one;
    }
    // A holder listens when it has held the lock for a moment.
    [[nodiscard]] bool holder_listens() {
        return eventually(patience, [&] {
            return server.command({"PUBSUB", "CHANNELS", "holdfast:wake:*"}).items.size() == 1;
        });
    }
};

TEST_F(evict_command, reports_that_the_holder_gave_it_up) {
    auto one = holder();
    ASSERT_TRUE(holder_listens());
    const auto end = run({"evict", "--yes", "--wait", "1m", "a"});
    EXPECT_EQ(end.code, 0);
    EXPECT_NE(end.output.find(":" + std::to_string(one.pid()) + " gave it up\n"), std::string::npos)
        << end.output;
    EXPECT_EQ(outcome_of(one).code, 75);
}

TEST_F(evict_command, ends_the_command_before_the_next_one_starts) {
    const auto log = testing::TempDir() + "evicted-" + std::to_string(::getpid());
    std::ofstream{log};
    auto one = start({"run", "--ttl", "5m", "--grace", "1m", "a", "--", "sh", "-c",
                      "trap 'sleep 1.5; echo ended >> " + log + "; exit 0' TERM; echo began >> " + log +
                          "; echo held; while :; do sleep 0.02; done"});
    ASSERT_TRUE(one.wait_for_output("held", patience));
    ASSERT_TRUE(holder_listens());
    auto next = start({"run", "a", "--", "sh", "-c", "echo next >> " + log});
    ASSERT_TRUE(eventually(patience, [&] { return queued(server, "a") == 1; }));
    const auto end = run({"evict", "--yes", "--wait", "5m", "a"});
    EXPECT_NE(end.output.find(" gave it up\n"), std::string::npos) << end.output;
    EXPECT_EQ(outcome_of(next).code, 0);
    EXPECT_EQ(outcome_of(one).code, 75);
    std::ifstream in{log};
    EXPECT_EQ((std::string{std::istreambuf_iterator<char>{in}, {}}), "began\nended\nnext\n");
    std::remove(log.c_str());
}

TEST_F(evict_command, reports_no_eviction_if_the_lock_was_removed_meanwhile) {
    auto one = holder();
    ASSERT_TRUE(holder_listens());
    one.pause();
    const auto token = server.command({"GET", "a"}).text;
    const auto late = [&](const words& given) {
        auto command = start(given);
        EXPECT_TRUE(eventually(patience, [&] {
            return server.command({"PUBSUB", "CHANNELS", "holdfast:wake:*"}).items.size() == 2;
        }));
        free_as_another_client("a");
        return outcome_of(command);
    };
    const auto printed = late({"evict", "--yes", "a"});
    EXPECT_EQ(printed.code, 1);
    EXPECT_NE(
        printed.output.find(":" + std::to_string(one.pid()) +
                            " no longer holds \"a\": released, expired, or taken away by another client "
                            "meanwhile\n\"a\" is free now; nothing was evicted\n"),
        std::string::npos)
        << printed.output;
    server.command({"SET", "a", token, "PX", "60000"});
    const auto json = late({"evict", "--yes", "--json", "a"});
    EXPECT_EQ(json.code, 1);
    const auto end = nlohmann::json::parse(json.output);
    EXPECT_EQ(end["evicted"], false);
    EXPECT_TRUE(end["from"].empty());
    ASSERT_EQ(end["gone"].size(), 1U);
    EXPECT_EQ(end["gone"][0]["pid"], one.pid());
    one.resume();
}

TEST_F(evict_command, evicts_once_when_two_operators_evict_at_the_same_time) {
    auto one = holder("1m");
    ASSERT_TRUE(holder_listens());
    one.pause();
    auto first = start({"evict", "--yes", "a"}), second = start({"evict", "--yes", "a"});
    const auto printed = outcome_of(first), also = outcome_of(second);
    EXPECT_EQ(printed.code + also.code, 1) << printed.output << also.output;
    const auto& late = printed.code == 1 ? printed.output : also.output;
    EXPECT_EQ(late.find("evicted \"a\""), std::string::npos) << late;
    one.resume();
}

TEST_F(evict_command, reports_how_long_a_silent_holder_may_go_on) {
    auto one = holder();
    ASSERT_TRUE(holder_listens());
    one.pause();
    const auto end = nlohmann::json::parse(run({"evict", "--yes", "--json", "a"}).output);
    EXPECT_EQ(end["evicted"], true);
    EXPECT_EQ(end["from"][0]["how"], "silent");
    EXPECT_GT(end["from"][0]["may_go_on_ms"], 0);
    EXPECT_LT(end["from"][0]["may_go_on_ms"], 3000);
    EXPECT_FALSE(is_held("a"));
    one.resume();
}

TEST_F(evict_command, reports_a_holder_that_does_not_listen_or_is_foreign) {
    server.command({"ACL", "SETUSER", "mute", "on", ">word", "~*", "resetchannels", "+@all"});
    auto one = start({"run", "--url", "redis://mute:word@127.0.0.1:" + std::to_string(server.port()), "a",
                      "--", "sh", "-c", "echo held; read x"});
    ASSERT_TRUE(one.wait_for_output("held", patience));
    const auto deaf = run({"evict", "--yes", "a"}).output;
    EXPECT_NE(deaf.find(" does not listen, may go on for "), std::string::npos) << deaf;
    hold_as_another_client("b");
    const auto foreign = run({"evict", "--yes", "b"}).output;
    EXPECT_NE(foreign.find("another client cannot be asked, may go on for "), std::string::npos) << foreign;
}

TEST_F(evict_command, removes_possible_data_only_by_force) {
    server.command({"SET", "page", std::string(4096, 'x')});
    const auto refused = run({"evict", "--yes", "page"});
    EXPECT_EQ(refused.code, 64);
    EXPECT_NE(
        refused.errors.find("a string of 4096 bytes that does not expire, while the token of a lock does;"),
        std::string::npos)
        << refused.errors;
    EXPECT_TRUE(is_held("page"));
    EXPECT_NE(run({"inspect", "page"}).output.find("a string of 4096 bytes that does not expire"),
              std::string::npos);
    EXPECT_EQ(run({"evict", "--yes", "--force", "page"}).code, 0);
    EXPECT_FALSE(is_held("page"));
}

}  // namespace
}  // namespace holdfast::test::cli
