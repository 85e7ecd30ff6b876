#include "support/fault_proxy.hpp"

#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/resp.hpp"

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <memory>
#include <optional>
#include <stdexcept>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

// A plain client, through the proxy.
class client {
  public:
    explicit client(const fault_proxy& proxy) : c_(redisConnect("127.0.0.1", proxy.port()), &redisFree) {}

    [[nodiscard]] bool connected() const { return c_->err == 0; }

    void send(const char* command) {
        redisAppendCommand(c_.get(), command);
        int done = 0;
        while (c_->err == 0 && done == 0) redisBufferWrite(c_.get(), &done);
    }
    // The text of the reply or of its first item; empty if the connection is lost or the limit passes.
    std::optional<std::string> receive(std::chrono::milliseconds limit = 10s) {
        redisSetTimeout(c_.get(), timeval{limit.count() / 1000, (limit.count() % 1000) * 1000});
        void* raw = nullptr;
        if (redisGetReply(c_.get(), &raw) != REDIS_OK) return std::nullopt;
        const std::unique_ptr<void, void (*)(void*)> owner{raw, &freeReplyObject};
        const redisReply* reply = static_cast<redisReply*>(raw);
        if (reply->type == REDIS_REPLY_ARRAY) reply = reply->element[0];
        return std::string{reply->str == nullptr ? "" : reply->str};
    }
    std::optional<std::string> ask(const char* command) {
        send(command);
        return receive();
    }

  private:
    std::unique_ptr<redisContext, void (*)(redisContext*)> c_;
};

class fault_proxy_test : public testing::Test {
  protected:
    redis_server server;
    fault_proxy proxy{server};
};

TEST_F(fault_proxy_test, passes_commands_and_replies_and_counts_them) {
    client c{proxy};
    EXPECT_EQ(c.ask("SET k v"), "OK");
    EXPECT_EQ(c.ask("GET k"), "v");
    EXPECT_EQ(proxy.count().accepted, 1u);
    EXPECT_EQ(proxy.count().commands, 2u);
    EXPECT_EQ(proxy.count().replies, 2u);
    EXPECT_EQ(proxy.count_of(named("get")), 1u);
    EXPECT_EQ(proxy.commands().front(), (std::vector<std::string>{"SET", "k", "v"}));
}

TEST_F(fault_proxy_test, drops_a_reply_after_the_server_has_executed) {
    proxy.drop_reply_of(named("set"));
    client c{proxy};
    EXPECT_EQ(c.ask("PING"), "PONG");
    EXPECT_EQ(c.ask("SET k v"), std::nullopt);
    EXPECT_EQ(server.command({"GET", "k"}).text, "v");
    EXPECT_EQ(proxy.count().rules_fired, 1u);

    client again{proxy};
    EXPECT_EQ(again.ask("SET k w"), "OK");
}

TEST_F(fault_proxy_test, holds_commands_of_alternate_connections_and_passes_their_replies) {
    client held{proxy};
    client other{proxy};
    ASSERT_EQ(held.ask("PING"), "PONG");
    ASSERT_EQ(other.ask("PING"), "PONG");
    proxy.hold_commands_after(100ms);
    held.send("SET k before");
    EXPECT_EQ(held.receive(), "OK");
    // From here on commands are held. How soon depends only on the proxy's clock.
    ASSERT_TRUE(eventually(10s, [&] { return proxy.count().commands_held > 0; }));
    held.send("SET k held");
    EXPECT_EQ(other.ask("GET k"), "before");
    proxy.pass_held_commands();
    EXPECT_EQ(held.receive(), "OK");
    EXPECT_EQ(other.ask("GET k"), "held");
}

TEST_F(fault_proxy_test, drops_the_nth_reply_and_delivers_those_before_it) {
    proxy.drop_reply_of(named("incr"), 2);
    client c{proxy};
    c.send("INCR n");
    c.send("PING");
    c.send("INCR n");
    c.send("INCR n");
    EXPECT_TRUE(c.receive());
    EXPECT_EQ(c.receive(), "PONG");
    EXPECT_EQ(c.receive(), std::nullopt);
}

TEST_F(fault_proxy_test, drops_a_command_before_the_server_sees_it) {
    proxy.drop_command([](const auto& words) { return words.size() > 2 && words[2] == "secret"; });
    client c{proxy};
    EXPECT_EQ(c.ask("SET k plain"), "OK");
    EXPECT_EQ(c.ask("SET k secret"), std::nullopt);
    EXPECT_EQ(server.command({"GET", "k"}).text, "plain");
}

TEST_F(fault_proxy_test, holds_a_reply_until_it_is_released) {
    proxy.hold_reply_of(named("set"));
    client c{proxy};
    c.send("SET k v");
    EXPECT_TRUE(eventually(patience, [&] { return proxy.count().replies_held == 1; }));
    EXPECT_EQ(server.command({"GET", "k"}).text, "v");
    proxy.release_replies();
    EXPECT_EQ(c.receive(), "OK");
    EXPECT_EQ(proxy.count().replies_held, 0u);
}

TEST_F(fault_proxy_test, cleared_rules_do_nothing) {
    proxy.drop_reply_of(named("ping"));
    proxy.clear_rules();
    client c{proxy};
    EXPECT_EQ(c.ask("PING"), "PONG");
}

TEST_F(fault_proxy_test, stalled_network_keeps_what_was_sent_until_it_is_resumed) {
    client c{proxy};
    EXPECT_EQ(c.ask("PING"), "PONG");
    proxy.stall();
    c.send("SET k v");
    client late{proxy};
    late.send("PING");
    EXPECT_EQ(server.command({"EXISTS", "k"}).number, 0);
    EXPECT_EQ(proxy.count().commands, 1u);
    proxy.resume();
    EXPECT_EQ(c.receive(), "OK");
    EXPECT_EQ(late.receive(), "PONG");
}

TEST_F(fault_proxy_test, cuts_every_connection) {
    client one{proxy};
    client two{proxy};
    EXPECT_EQ(one.ask("PING"), "PONG");
    EXPECT_EQ(two.ask("PING"), "PONG");
    proxy.cut_all();
    EXPECT_EQ(proxy.count().open, 0u);
    EXPECT_EQ(one.ask("PING"), std::nullopt);
    EXPECT_EQ(two.ask("PING"), std::nullopt);
}

TEST_F(fault_proxy_test, refuses_new_connections_and_keeps_old_ones) {
    client old{proxy};
    EXPECT_EQ(old.ask("PING"), "PONG");
    proxy.refuse_new(true);
    EXPECT_FALSE(client{proxy}.connected());
    EXPECT_EQ(old.ask("PING"), "PONG");
    proxy.refuse_new(false);
    EXPECT_EQ(client{proxy}.ask("PING"), "PONG");
}

TEST_F(fault_proxy_test, swallows_published_messages_and_nothing_else) {
    client subscriber{proxy};
    EXPECT_EQ(subscriber.ask("SUBSCRIBE a b"), "subscribe");
    EXPECT_EQ(subscriber.receive(), "subscribe");
    proxy.swallow_messages(true);
    server.command({"PUBLISH", "a", "lost"});
    EXPECT_TRUE(eventually(patience, [&] { return proxy.count().messages_swallowed == 1; }));
    EXPECT_EQ(subscriber.ask("SUBSCRIBE c"), "subscribe");
    proxy.swallow_messages(false);
    server.command({"PUBLISH", "c", "payload"});
    EXPECT_EQ(subscriber.receive(), "message");
    EXPECT_EQ(proxy.count().messages, 1u);
}

TEST_F(fault_proxy_test, delays_replies) {
    client c{proxy};
    proxy.delay(30ms);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(c.ask("PING"), "PONG");
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 30ms);
}

TEST_F(fault_proxy_test, connections_end_and_resume_with_the_server) {
    client c{proxy};
    EXPECT_EQ(c.ask("PING"), "PONG");
    server.stop();
    EXPECT_EQ(c.receive(), std::nullopt);
    EXPECT_EQ(client{proxy}.ask("PING"), std::nullopt);
    server.start();
    EXPECT_EQ(client{proxy}.ask("PING"), "PONG");
}

TEST_F(fault_proxy_test, leaves_no_thread_and_no_descriptor_behind) {
    const auto threads = count_threads();
    const auto fds = count_open_fds();
    {
        const fault_proxy another{server};
        const client c{another};
    }
    EXPECT_TRUE(eventually(patience, [&] { return count_threads() <= threads; }));
    EXPECT_EQ(count_open_fds(), fds);
}

TEST(fault_proxy_with_password, is_reached_by_its_url) {
    redis_server server{{.password = "pw"}};
    const fault_proxy proxy{server};
    EXPECT_EQ(proxy.url(), "redis://:pw@127.0.0.1:" + std::to_string(proxy.port()));
}

TEST(resp, message_length_waits_for_the_whole_message) {
    const std::string message = "*3\r\n$3\r\nSET\r\n:1\r\n*2\r\n$-1\r\n+OK\r\n";
    for (std::size_t n = 0; n < message.size(); ++n) {
        EXPECT_EQ(resp_message_length(message.substr(0, n)), std::nullopt) << n;
    }
    EXPECT_EQ(resp_message_length(message + "+next\r\n"), message.size());
}

TEST(resp, words_may_be_empty_or_binary) {
    EXPECT_EQ(resp_words("*2\r\n$0\r\n\r\n$2\r\n\r\n\r\n"), (std::vector<std::string>{"", "\r\n"}));
    EXPECT_TRUE(resp_words("+OK\r\n").empty());
}

TEST(resp, garbage_is_rejected) {
    EXPECT_THROW((void)resp_message_length("GET /\r\n"), std::runtime_error);
    EXPECT_THROW((void)resp_message_length("*x\r\n"), std::runtime_error);
}

}  // namespace
}  // namespace holdfast::test
