// config::switch_source in a cluster of Nacos servers, and what only an imitated one shows on demand.
#include "server/scene.hpp"
#include "support/fake_nacos.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace holdfast::test {
namespace {

class nacos_cluster : public ::testing::Test {
  protected:
    void publish(const std::string& text) {
        for (auto* const one : {&first, &second}) one->publish("switch", text);
    }
    [[nodiscard]] config with_both() const {
        auto how = settings(server.url());
        how.policies = {{.name = "open", .match = "*", .outage = on_outage::fail_open_process}};
        how.switch_source = "nacos://nacos:" + std::string{nacos_centre::right_password} +
                            "@127.0.0.1:" + std::to_string(first.port()) +
                            ",127.0.0.1:" + std::to_string(second.port()) +
                            "/public/tests/switch?long_poll=10s";
        return how;
    }
    [[nodiscard]] static bool becomes(client& c, strength wanted) {
        return eventually(patience, [&] { return mutex(c, "stock").acquire().strength() == wanted; });
    }

    const std::string off = "distributed.lock.use-redis=false";
    const std::string on = "distributed.lock.use-redis=true";
    fake_nacos first{nacos_centre::version::with_long_polls};
    fake_nacos second{nacos_centre::version::with_long_polls};
    redis_server server;
};

TEST_F(nacos_cluster, is_read_while_one_server_is_left) {
    publish(off);
    client c{with_both()};
    event_recorder events{c};
    ASSERT_TRUE(becomes(c, strength::process_local));
    first.stop();
    publish(on);
    EXPECT_TRUE(becomes(c, strength::single));
    EXPECT_EQ(events.count(event_kind::source_down), 0U);
    second.stop();
    EXPECT_TRUE(events.has(event_kind::source_down));
    first.start();
    publish(off);
    EXPECT_TRUE(becomes(c, strength::process_local));
}

// A server that is being shut down ends its polls so, and a proxy that has lost its server.
TEST_F(nacos_cluster, whose_polls_fail_is_read_all_the_same) {
    publish(off);
    const fake_nacos::rule fails = [](const fake_nacos::asked& a) -> std::optional<fake_nacos::answered> {
        if (a.target.find("listener") == std::string::npos) return std::nullopt;
        return fake_nacos::answered{503, {}, {}};
    };
    first.set_rule(fails);
    second.set_rule(fails);
    client c{with_both()};
    event_recorder events{c};
    ASSERT_TRUE(becomes(c, strength::process_local));
    publish(on);
    EXPECT_TRUE(becomes(c, strength::single));
    EXPECT_EQ(events.count(event_kind::source_down), 0U);
}

TEST_F(nacos_cluster, sees_secrets_only_where_no_log_shows_them) {
    publish(off);
    {
        client c{with_both()};
        ASSERT_TRUE(becomes(c, strength::process_local));
    }
    ASSERT_GT(first.count("configs"), 0U);
    for (const auto& a : first.all()) {
        EXPECT_EQ(a.target.find("token"), std::string::npos) << a.target;
        EXPECT_EQ(a.target.find(nacos_centre::right_password), std::string::npos) << a.target;
    }
}

TEST_F(nacos_cluster, that_answers_like_a_proxy_changes_nothing) {
    publish(off);
    client c{with_both()};
    event_recorder events{c};
    ASSERT_TRUE(becomes(c, strength::process_local));
    const fake_nacos::rule portal = [](const fake_nacos::asked&) {
        return std::optional{fake_nacos::answered{200, "<html>distributed.lock.use-redis=true</html>", {}}};
    };
    first.set_rule(portal);
    second.set_rule(portal);
    publish("distributed.lock.use-redis=false # ends the polls");
    const auto down = events.next(event_kind::source_down);
    ASSERT_TRUE(down);
    EXPECT_NE(down->detail.find("not one of Nacos"), std::string::npos) << down->detail;
    EXPECT_EQ(mutex(c, "stock").acquire().strength(), strength::process_local);
}

}  // namespace
}  // namespace holdfast::test
