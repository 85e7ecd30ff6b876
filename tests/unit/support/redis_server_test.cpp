#include "support/redis_server.hpp"

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <sstream>
#include <stdexcept>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

TEST(redis_server, answers_every_kind_of_reply) {
    redis_server server;
    EXPECT_EQ(server.command({"SET", "k", "v"}).text, "OK");
    EXPECT_EQ(server.command({"GET", "k"}).text, "v");
    EXPECT_TRUE(server.command({"GET", "none"}).is_nil());
    EXPECT_EQ(server.command({"INCR", "n"}).number, 1);
    EXPECT_TRUE(server.command({"NONSENSE"}).is_error());
    EXPECT_EQ(server.command({"MGET", "k", "n"}).items.size(), 2u);
    EXPECT_EQ(server.keys(), (std::vector<std::string>{"k", "n"}));
}

TEST(redis_server, replies_print_as_redis_cli_shows_them) {
    redis_server server;
    server.command({"SET", "k", "v"});
    std::ostringstream out;
    out << server.command(
        {"EVAL", "return {redis.call('get', 'k'), 3, false, redis.status_reply('OK')}", "0"});
    EXPECT_EQ(out.str(), "[\"v\", (integer) 3, (nil), OK]");
}

TEST(redis_server, values_may_hold_any_bytes) {
    redis_server server;
    const std::string bytes{"\0\r\n\xff", 4};
    server.command({"SET", bytes, bytes});
    EXPECT_EQ(server.command({"GET", bytes}).text, bytes);
}

TEST(redis_server, two_servers_share_neither_port_nor_data) {
    redis_server one;
    redis_server two;
    one.command({"SET", "k", "v"});
    EXPECT_NE(one.port(), two.port());
    EXPECT_TRUE(two.keys().empty());
}

TEST(redis_server, password_works_and_is_in_the_url) {
    redis_server server{{.password = "s3cret"}};
    EXPECT_EQ(server.command({"PING"}).text, "PONG");
    EXPECT_EQ(server.url(), "redis://:s3cret@127.0.0.1:" + std::to_string(server.port()));
}

TEST(redis_server, users_are_restricted_as_their_acl_says) {
    redis_server server{{.users = {"reader on >pw ~* +get"}}};
    EXPECT_EQ(server.command({"AUTH", "reader", "pw"}).text, "OK");
    EXPECT_TRUE(server.command({"SET", "k", "v"}).is_error());
}

TEST(redis_server, debug_command_is_off_by_default) {
    redis_server plain;
    redis_server debuggable{{.debug_command = true}};
    EXPECT_TRUE(plain.command({"DEBUG", "JMAP"}).is_error());
    EXPECT_EQ(debuggable.command({"DEBUG", "SLEEP", "0"}).text, "OK");
}

TEST(redis_server, listens_on_its_unix_socket) {
    redis_server server;
    const std::unique_ptr<redisContext, void (*)(redisContext*)> c{
        redisConnectUnix(server.socket_path().c_str()), &redisFree};
    EXPECT_EQ(c->err, 0) << c->errstr;
}

TEST(redis_server, keeps_its_port_while_it_is_stopped) {
    redis_server server;
    server.stop();
    // Without SO_REUSEADDR, as another program would.
    const unique_fd stranger{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_NE(::bind(stranger.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    server.start();
    EXPECT_EQ(server.command({"PING"}).text, "PONG");
}

TEST(redis_server, start_failure_is_reported_with_the_servers_output) {
    try {
        const redis_server server{{.config = {"no-such-directive yes"}}};
        FAIL() << "it starts";
    } catch (const std::runtime_error& e) {
        const std::string why{e.what()};
        EXPECT_NE(why.find("ended while it started"), std::string::npos) << why;
        EXPECT_NE(why.find("no-such-directive"), std::string::npos) << why;
    }
}

TEST(redis_server, restart_keeps_data_and_port) {
    for (const auto disk : {redis_server::persistence::none, redis_server::persistence::append_only}) {
        redis_server server{{.disk = disk}};
        const auto port = server.port();
        server.command({"SET", "k", "v"});
        server.restart(redis_server::data::keep);
        EXPECT_EQ(server.port(), port);
        EXPECT_EQ(server.command({"GET", "k"}).text, "v");
    }
}

TEST(redis_server, restart_loses_data_on_request) {
    redis_server server{{.disk = redis_server::persistence::append_only}};
    server.command({"SET", "k", "v"});
    server.restart(redis_server::data::lose);
    EXPECT_TRUE(server.keys().empty());
}

TEST(redis_server, answered_write_survives_a_crash_with_append_only) {
    redis_server server{{.disk = redis_server::persistence::append_only}};
    server.command({"SET", "k", "v"});
    server.stop();
    EXPECT_FALSE(server.running());
    EXPECT_THROW(server.command({"PING"}), std::runtime_error);
    server.start();
    EXPECT_EQ(server.command({"GET", "k"}).text, "v");
}

TEST(redis_server, killed_connection_is_replaced) {
    redis_server server;
    server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no"});
    EXPECT_EQ(server.command({"PING"}).text, "PONG");
}

TEST(redis_server, paused_server_answers_after_it_is_resumed) {
    redis_server server;
    server.pause();
    EXPECT_TRUE(server.running());
    server.resume();
    EXPECT_EQ(server.command({"PING"}).text, "PONG");
}

TEST(redis_server, bad_config_line_throws_with_the_servers_output) {
    try {
        redis_server server{{.config = {"no-such-directive 1"}}};
        FAIL() << "the server started";
    } catch (const std::runtime_error& e) {
        EXPECT_NE(std::string{e.what()}.find("no-such-directive"), std::string::npos) << e.what();
    }
}

TEST(redis_server, leaves_no_descriptor_behind) {
    const auto before = count_open_fds();
    {
        redis_server server;
        server.command({"PING"});
    }
    EXPECT_EQ(count_open_fds(), before);
}

}  // namespace
}  // namespace holdfast::test
