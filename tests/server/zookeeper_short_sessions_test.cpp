// Leases that are longer than the sessions which the servers of an ensemble grant.
#include "server/cli_scene.hpp"
#include "server/zookeeper_scene.hpp"
#include "support/wire.hpp"

namespace holdfast::test {
namespace {

class zookeeper_short_sessions : public zookeeper_locks {
  protected:
    static constexpr auto session = slower > 1 ? 6s : 2s;

    zookeeper_short_sessions() { wanted.longest = static_cast<int>(session / wanted.tick); }
    void SetUp() override {
        zookeeper_locks::SetUp();
        if (IsSkipped()) return;
        to_server = std::make_unique<wire>(servers->port(), wire::memory::none);
        through = std::make_unique<client>(settings_for(url(), 10s));
    }
    [[nodiscard]] std::string url() const {
        return "zk://127.0.0.1:" + std::to_string(to_server->port()) + "?tick=200ms";
    }
    // The connection of the holder is frozen; the next client is granted the lock when the session is over.
    void expect_loss_before_the_next_grant(const lease& held) {
        to_server->stall(true);
        const auto other = new_client();
        const auto next = mutex(*other, "stock").try_acquire_for(patience);
        EXPECT_TRUE(next.valid());
        EXPECT_FALSE(held.valid()) << "two holders";
        EXPECT_EQ(held.state(), lease_state::lost);
        // It was reported at the deadline, a tick ago.
        EXPECT_TRUE(eventually(1s * slower, [&] { return held.lost_token().stop_requested(); }));
    }

    std::unique_ptr<wire> to_server;
    std::unique_ptr<client> through;
};

TEST_F(zookeeper_short_sessions, end_renewed_leases_before_the_next_holder_comes) {
    expect_loss_before_the_next_grant(mutex(*through, "stock").acquire());
}

TEST_F(zookeeper_short_sessions, end_leases_that_are_not_renewed_before_the_next_holder_comes) {
    expect_loss_before_the_next_grant(mutex(*through, "stock").acquire({.ttl = 60s}));
}

TEST_F(zookeeper_short_sessions, end_the_leases_of_readers_and_writers_before_the_next_holder_comes) {
    shared_mutex list{*through, "list"};
    const auto written = list.acquire();
    shared_mutex page{*through, "page"};
    const auto read = page.acquire_shared();
    to_server->stall(true);
    const auto other = new_client();
    EXPECT_TRUE(shared_mutex(*other, "list").try_acquire_for(patience));
    EXPECT_FALSE(written.valid());
    EXPECT_TRUE(shared_mutex(*other, "page").try_acquire_for(patience));
    EXPECT_FALSE(read.valid());
}

TEST_F(zookeeper_short_sessions, keep_longer_leases_while_they_are_proved) {
    const auto held = mutex(*through, "stock").acquire({.ttl = 60s});
    const auto until = held.deadline();
    EXPECT_LT(until, boot_clock::now() + session);
    EXPECT_TRUE(eventually(patience, [&] { return held.deadline() > until + 2 * session; }));
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(held.lost_token().stop_requested());
}

// --- holdfast run -----------------------------------------------------------------------------------------

// Neither the ttl nor the grace fits into a session.
class zookeeper_short_sessions_of_run : public zookeeper_short_sessions {
  protected:
    [[nodiscard]] child_process run(const std::string& script) const {
        return cli::start_command({"run", "--ttl", "60s", "stock", "--", "sh", "-c", script},
                                  {{"HOLDFAST_URL", url()}});
    }
};

TEST_F(zookeeper_short_sessions_of_run, do_not_end_its_command) {
    auto command = run("sleep " + std::to_string(3 * session / 1s) + "; exit 3");
    const auto end = cli::outcome_of(command);
    EXPECT_EQ(end.code, 3) << end.errors;
}

TEST_F(zookeeper_short_sessions_of_run, end_its_command_before_the_next_holder_comes) {
    auto command = run("trap '' TERM; echo \"pid: $$\"; while :; do sleep 1; done");
    const auto pid = cli::printed_pid(command, "pid");
    ASSERT_GT(pid, 0) << command.errors();
    to_server->stall(true);
    const auto other = new_client();
    EXPECT_TRUE(mutex(*other, "stock").try_acquire_for(patience));
    EXPECT_TRUE(cli::is_dead(pid)) << "it works beside the next holder";
    EXPECT_EQ(cli::outcome_of(command).code, 75);
}

}  // namespace
}  // namespace holdfast::test
