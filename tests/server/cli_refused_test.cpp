// `holdfast run` and a server that refuses to release or renew a lock that it has granted.
#include "server/cli_scene.hpp"
#include "support/cluster_scene.hpp"

#include <regex>

namespace holdfast::test::cli {
namespace {

// holdfast ended its command after the server had refused a renewal with this error.
void expect_ended_after_a_refusal(const outcome& ended, const std::string& error) {
    EXPECT_EQ(ended.code, 75);
    const auto why = ended.errors.find("\"job\": the server refuses to renew the lease");
    const auto loss = ended.errors.find("the lock \"job\" cannot be renewed and is about to be lost");
    ASSERT_NE(why, std::string::npos) << ended.errors;
    EXPECT_NE(ended.errors.find(error, why), std::string::npos) << ended.errors;
    EXPECT_LT(why, loss) << ended.errors;
}

class run_whose_user_loses_a_right : public command_test {
  protected:
    run_whose_user_loses_a_right() { let("+@all"); }

    void let(const std::string& rule) {
        ASSERT_EQ(server.command({"ACL", "SETUSER", "alice", "on", ">pw", "~*", "&*", rule}).text, "OK");
    }
    // A plain SET acquires the mutex; scripts release and renew it.
    void forbid_scripts() {
        let("-eval");
        let("-evalsha");
    }
    [[nodiscard]] child_process start_as_alice(words arguments) const {
        const auto url = "redis://alice:pw@127.0.0.1:" + std::to_string(server.port());
        arguments.insert(arguments.begin(), {"--url", url});
        return start(std::move(arguments));
    }
};

// The command did its work. That the lock stays for a while concerns the next holder, and is reported.
TEST_F(run_whose_user_loses_a_right, reports_a_refused_release_and_when_the_lock_is_free) {
    forbid_scripts();
    auto command = start_as_alice({"run", "job", "--", "true"});
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 0);
    EXPECT_NE(ended.errors.find("the lock \"job\" could not be released"), std::string::npos) << ended.errors;
    EXPECT_NE(ended.errors.find("NOPERM"), std::string::npos) << ended.errors;
    // 30 s, less what the command took.
    EXPECT_TRUE(std::regex_search(ended.errors, std::regex{"it is free in (30|[12]?[0-9])s at the latest"}))
        << ended.errors;
    EXPECT_EQ(ended.errors.find("did not answer"), std::string::npos) << ended.errors;
    EXPECT_TRUE(is_held("job"));
}

TEST_F(run_whose_user_loses_a_right, reports_a_refused_renewal_before_it_ends_the_command) {
    auto command = start_as_alice({"run", "--ttl", lasting(5s), "job", "--", "sh", "-c",
                                   "echo ready; trap 'exit 0' TERM; while :; do sleep 0.02; done"});
    ASSERT_TRUE(command.wait_for_output("ready", patience));
    forbid_scripts();
    expect_ended_after_a_refusal(outcome_of(command), "NOPERM");
}

TEST_F(run_whose_user_loses_a_right, reports_a_refused_renewal_and_its_recovery) {
    auto command =
        start_as_alice({"run", "--ttl", lasting(5s), "job", "--", "sh", "-c", "echo ready; read x; exit 0"});
    ASSERT_TRUE(command.wait_for_output("ready", patience));
    forbid_scripts();
    ASSERT_TRUE(command.wait_for_output("\"job\": the server refuses to renew the lease", patience));
    let("+@all");
    EXPECT_TRUE(command.wait_for_output("\"job\": renewal works again", patience)) << command.errors();
    EXPECT_EQ(outcome_of(command).code, 0);
}

TEST_F(run_whose_user_loses_a_right, names_the_refusal_as_the_cause_of_the_loss) {
    auto command = start_as_alice({"run", "--on-loss", "ignore", "--ttl", lasting(5s), "job", "--", "sh",
                                   "-c", "echo ready; read x; exit 0"});
    ASSERT_TRUE(command.wait_for_output("ready", patience));
    forbid_scripts();
    ASSERT_TRUE(command.wait_for_output("the lease was not renewed in time: the last answer was a refusal",
                                        patience));
    EXPECT_TRUE(command.wait_for_output("NOPERM", patience)) << command.errors();
    EXPECT_EQ(outcome_of(command).code, 75);
}

TEST(run_on_a_cluster, names_the_lock_of_the_server_that_refuses) {
    cluster_scene cluster{{.replicas = false, .users = {"alice on >pw ~* &* +@all"}}};
    const auto lost = cluster.key_on(0, "lost"), renewed = cluster.key_on(1, "renewed");
    auto command =
        start_command({"run", "--url", cluster.url("alice:pw@"), "--ttl", lasting(5s), lost, renewed, "--",
                       "sh", "-c", "echo ready; trap 'exit 0' TERM; while :; do sleep 0.02; done"});
    ASSERT_TRUE(command.wait_for_output("ready", patience));
    ASSERT_EQ(cluster.server(0).command({"ACL", "SETUSER", "alice", "-eval", "-evalsha"}).text, "OK");
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 75);
    EXPECT_NE(
        ended.errors.find("holdfast: the lock \"" + lost + "\" cannot be renewed and is about to be lost"),
        std::string::npos)
        << ended.errors;
}

// --- refusals that end by themselves --------------------------------------------------------------

class run_whose_server_fails_over : public command_test {
  protected:
    void become_a_replica() {
        ASSERT_EQ(server.command({"REPLICAOF", "127.0.0.1", std::to_string(master_.number())}).text, "OK");
    }
    void become_the_master() { ASSERT_EQ(server.command({"REPLICAOF", "NO", "ONE"}).text, "OK"); }
    [[nodiscard]] bool has_refused_a_write() {
        return server.command({"INFO", "errorstats"}).text.find("errorstat_READONLY") != std::string::npos;
    }
    // No master answers there, so the replica keeps its data.
    reserved_port master_;
};

TEST_F(run_whose_server_fails_over, prints_nothing_if_it_renews_in_time) {
    auto command =
        start({"run", "--ttl", lasting(5s), "job", "--", "sh", "-c", "echo ready; read x; exit 0"});
    ASSERT_TRUE(command.wait_for_output("ready", patience));
    become_a_replica();
    ASSERT_TRUE(eventually(patience, [&] { return has_refused_a_write(); }));
    become_the_master();
    const auto left = [&] { return server.command({"PTTL", "job"}).number; };
    ASSERT_TRUE(eventually(patience, [&, before = left()] { return left() > before; })) << "renewed";
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.errors, "");
}

// An operator may have to repair the server, which its error does not say.
TEST_F(run_whose_server_fails_over, reports_the_refusal_when_it_ends_the_command) {
    auto command = start({"run", "--ttl", lasting(5s), "job", "--", "sh", "-c",
                          "echo ready; trap 'exit 0' TERM; while :; do sleep 0.02; done"});
    ASSERT_TRUE(command.wait_for_output("ready", patience));
    become_a_replica();
    expect_ended_after_a_refusal(outcome_of(command), "READONLY");
}

}  // namespace
}  // namespace holdfast::test::cli
