// A server that answers BUSY while it runs another client's script.
#include "server/scene.hpp"

#include <hiredis/hiredis.h>

namespace holdfast::test {
namespace {

class busy_server : public ::testing::Test {
  protected:
    struct free_context {
        void operator()(redisContext* c) const { redisFree(c); }
    };

    static config with_a_long_timeout(const std::string& url) {
        auto how = settings(url);
        how.answer_timeout = 30s;
        how.close_timeout = 20ms;
        return how;
    }
    void SetUp() override {
        server.command({"CONFIG", "SET", "busy-reply-threshold", "1"});
        script_runner.reset(redisConnect("127.0.0.1", server.port()));
        ASSERT_TRUE(script_runner && script_runner->err == 0);
    }
    void run_script() {
        int done = 0;
        redisAppendCommand(script_runner.get(), "EVAL %s 0", "while true do end");
        while (done == 0) ASSERT_EQ(redisBufferWrite(script_runner.get(), &done), REDIS_OK);
        ASSERT_TRUE(eventually(patience, [&] { return server.command({"PING"}).is_error(); }));
    }
    void kill_script() {
        EXPECT_TRUE(eventually(patience, [&] {
            server.command({"SCRIPT", "KILL"});
            return !server.command({"PING"}).is_error();
        }));
    }
    // The pauses grow: after 9 sends the next one takes seconds.
    [[nodiscard]] bool is_sent_again(const command_predicate& which) {
        const auto before = net.count_of(which);
        return eventually(patience, [&] { return net.count_of(which) >= before + 9; });
    }

    redis_server server;
    fault_proxy net{server};
    std::unique_ptr<redisContext, free_context> script_runner;
    std::unique_ptr<client> c = std::make_unique<client>(with_a_long_timeout(net.url()));
};

TEST_F(busy_server, does_not_delay_the_end_of_a_client_that_retries_a_release) {
    mutex one{*c, "one"};
    auto held = one.acquire();
    ASSERT_NO_FATAL_FAILURE(run_script());
    auto releasing = in_background([&] { return held.release(); });
    EXPECT_TRUE(is_sent_again(plain::leave()));
    const stopwatch watch;
    c.reset();
    EXPECT_LT(watch.took(), 20ms + slack);
    EXPECT_EQ(releasing.get(), release_outcome::unknown_until);
    kill_script();
}

TEST_F(busy_server, does_not_delay_the_end_of_a_client_that_retries_add_permits) {
    counting_semaphore seats{*c, "seats"};
    EXPECT_TRUE(seats.try_set_permits(5));
    ASSERT_NO_FATAL_FAILURE(run_script());
    auto adding = in_background([&] { return code_of([&] { (void)seats.add_permits(2); }); });
    EXPECT_TRUE(is_sent_again(runs(redis_scripts::semaphore)));
    const stopwatch watch;
    c.reset();
    EXPECT_LT(watch.took(), 20ms + slack);
    const auto why = adding.get();  // the answer to the last attempt, or none if the client ended before it
    EXPECT_TRUE(why == errc::busy_server || why == errc::unknown_outcome) << why.message();
    kill_script();
}

}  // namespace
}  // namespace holdfast::test
