// What scrapers get from a client that listens (config::metrics_listen).
#include "server/scene.hpp"
#include "support/forked.hpp"
#include "support/http_call.hpp"
#include "support/loopback.hpp"

#include <holdfast/metrics.hpp>

#include <gtest/gtest.h>

#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::test {
namespace {

config listening_at(std::string address) {
    auto c = settings("local:");
    c.families = {{"stock", "stock:*"}};
    c.metrics_listen = std::move(address);
    return c;
}

std::uint16_t port_in(const std::string& address) {
    std::uint16_t port = 0;
    std::from_chars(address.data() + address.rfind(':') + 1, address.data() + address.size(), port);
    return port;
}

class metrics_listener : public ::testing::Test {
  protected:
    std::unique_ptr<client> c = std::make_unique<client>(listening_at("127.0.0.1:0"));
    const std::string address = metrics_address(*c);
    const std::uint16_t port = port_in(address);
};

TEST_F(metrics_listener, answers_with_the_metrics_of_now) {
    EXPECT_EQ(address, "127.0.0.1:" + std::to_string(port));
    const auto before = http_call(port, "GET", "/metrics");
    EXPECT_EQ(before.status, 200);
    EXPECT_NE(before.body.find("\nholdfast_held{family=\"stock\"} 0\n"), std::string::npos) << before.body;
    const auto held = mutex(*c, "stock:1").acquire();
    const auto now = http_call(port, "GET", "/metrics");
    EXPECT_NE(now.body.find("\nholdfast_held{family=\"stock\"} 1\n"), std::string::npos) << now.body;
    EXPECT_EQ(now.body.find("# EOF"), std::string::npos);
}

TEST_F(metrics_listener, answers_in_open_metrics_to_whom_asks_for_it) {
    const auto got =
        http_call(port, "GET", "/metrics", {},
                  {"Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"});
    EXPECT_EQ(got.status, 200);
    EXPECT_TRUE(got.body.ends_with("# EOF\n")) << got.body;
}

TEST_F(metrics_listener, has_nothing_else) {
    EXPECT_EQ(http_call(port, "GET", "/").status, 404);
    EXPECT_EQ(http_call(port, "GET", "/metrics/").status, 404);
    EXPECT_EQ(http_call(port, "POST", "/metrics", std::string(100'000, 'x')).status, 405);
    EXPECT_EQ(http_call(port, "HEAD", "/metrics").body, "");
}

TEST_F(metrics_listener, ignores_those_that_send_no_whole_request) {
    std::vector<unique_fd> slow;
    for (int i = 0; i < 8; ++i) {
        slow.push_back(connect_to(port));
        ASSERT_EQ(::send(slow.back().get(), "GET /met", 8, MSG_NOSIGNAL), 8);
    }
    EXPECT_EQ(http_call(port, "GET", "/metrics").status, 200);
    const stopwatch closing;
    c.reset();
    EXPECT_LT(closing.took(), 1s + slack);
}

TEST_F(metrics_listener, serves_scrapers_while_locks_come_and_go) {
    std::vector<std::future<int>> scrapers;
    for (int i = 0; i < 3; ++i)
        scrapers.push_back(in_background([&] {
            int answers = 0;
            for (int k = 0; k < 20; ++k) answers += http_call(port, "GET", "/metrics").status == 200 ? 1 : 0;
            return answers;
        }));
    const auto lock = mutex(*c, "stock:1");
    for (int i = 0; i < 200; ++i) (void)mutex(*c, "stock:" + std::to_string(i)).acquire();
    for (auto& one : scrapers) EXPECT_EQ(one.get(), 20);
}

TEST_F(metrics_listener, port_is_free_when_the_client_is_gone) {
    c.reset();
    const client next{listening_at(address)};
    EXPECT_EQ(metrics_address(next), address);
}

// A child that lives on would keep the port taken, and scrapers would wait for it.
TEST_F(metrics_listener, child_does_not_keep_the_port) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    unique_fd here{ends[0]}, there{ends[1]};
    auto child = in_background([&] {
        return in_forked_child([&] {
            here.reset();
            c.reset();
            if (::send(there.get(), "x", 1, MSG_NOSIGNAL) != 1) return 1;
            char end = 0;
            return ::read(there.get(), &end, 1) == 0 ? 0 : 2;
        });
    });
    char forked = 0;
    ASSERT_EQ(::read(here.get(), &forked, 1), 1);
    EXPECT_EQ(http_call(port, "GET", "/metrics").status, 200) << "the parent's goes on";
    c.reset();
    EXPECT_EQ(message_of([&] { client{listening_at(address)}; }), "");
    here.reset();
    EXPECT_EQ(child.get(), 0);
}

TEST_F(metrics_listener, addresses_that_cannot_be_are_refused) {
    const auto why = [](const std::string& at) { return message_of([&] { client{listening_at(at)}; }); };
    for (const auto* wrong : {"9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
                              "127.0.0.1:-1", "::1:9464", "203.0.113.1:9464"}) {
        EXPECT_EQ(code_of([&] { client{listening_at(wrong)}; }), errc::invalid_argument) << wrong;
        EXPECT_NE(why(wrong).find("config::metrics_listen: '" + std::string{wrong} + "'"), std::string::npos)
            << why(wrong);
    }
    EXPECT_NE(why(address).find("Address already in use"), std::string::npos) << why(address);
}

TEST_F(metrics_listener, is_asked_for) { EXPECT_EQ(metrics_address(client{settings("local:")}), ""); }

}  // namespace
}  // namespace holdfast::test
