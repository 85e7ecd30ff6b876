// config::switch_source in an arbiter, on the stores that can be one.
#include "server/scene.hpp"
#include "server/sql_scene.hpp"
#include "support/zookeeper_server.hpp"

#include <holdfast/admin.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace holdfast::test {
namespace {

std::string wish(int serial, const std::string& mode) {
    return R"({"holdfast": 1, "serial": )" + std::to_string(serial) +
           R"(, "by": "li", "reason": "upgrade", "groups": {"default": {"mode": ")" + mode + R"("}}})";
}

class switch_publish : public ::testing::Test {
  protected:
    [[nodiscard]] config with(const std::string& arbiter) const {
        auto how = settings(redis.url());
        how.policies = {{.name = "stock", .match = "stock:*", .outage = on_outage::fail_open_process}};
        how.switch_source = "arbiter:" + arbiter;
        return how;
    }
    // Clients of a group without an arbiter of its own do without their store, and use it again.
    void tells_clients(const std::string& arbiter) {
        const auto how = with(arbiter);
        client c{how};
        event_recorder events{c};
        EXPECT_TRUE(events.has(event_kind::source_down)) << "there is no document yet";
        EXPECT_EQ(mutex(c, "stock:1").acquire().strength(), strength::single);
        EXPECT_TRUE(admin::publish_document(how, wish(1, "fallback")));
        ASSERT_TRUE(events.has(event_kind::switched));
        EXPECT_EQ(events.last(event_kind::switched).detail, "the store is not to be used, says li: upgrade");
        EXPECT_EQ(mutex(c, "stock:1").acquire().strength(), strength::process_local);
        EXPECT_EQ(code_of([&] { (void)admin::publish_document(how, wish(0, "redis")); }),
                  errc::invalid_argument);
        client late{how};
        EXPECT_EQ(mutex(late, "stock:2").acquire().strength(), strength::process_local)
            << "it has read the document when it was made";
        EXPECT_TRUE(admin::publish_document(how, wish(2, "redis")));
        EXPECT_TRUE(eventually(patience,
                               [&] { return mutex(c, "stock:1").acquire().strength() == strength::single; }));
    }

    redis_server redis;
    const temp_dir folder;
};

TEST_F(switch_publish, tells_clients_by_zookeeper) {
    zookeeper_servers servers;
    tells_clients(servers.url());
}

TEST_F(switch_publish, tells_clients_by_a_database_in_a_file) {
    tells_clients("sqlite:" + (folder.path() / "locks").string());
}

TEST_F(switch_publish, needs_a_source_that_it_can_write) {
    auto how = settings(redis.url());
    how.switch_source = "file:/nowhere";
    EXPECT_EQ(code_of([&] { (void)admin::publish_document(how, wish(1, "redis")); }), errc::invalid_argument);
    how.switch_source = "arbiter:zk://127.0.0.1:1";
    how.answer_timeout = 100ms;
    EXPECT_EQ(code_of([&] { (void)admin::publish_document(how, wish(1, "redis")); }), errc::unavailable);
}

TEST_F(switch_publish, proposes_to_a_group_with_an_arbiter_of_its_own) {
    const auto file = [&](const char* name) { return "sqlite:" + (folder.path() / name).string(); };
    auto how = settings("joint:mode_lease=1s,max_skew=0ms," + file("first") + "," + file("second"));
    how.switch_source = "arbiter:" + file("second");
    client c{how};
    ASSERT_TRUE(admin::mode(c).uses_only(0));
    EXPECT_TRUE(admin::publish_document(how, wish(1, "fallback")));
    EXPECT_TRUE(eventually(2 * patience, [&] { return admin::mode(c).uses_only(1); }));
    EXPECT_EQ(admin::mode(c).history.back().author.by, "li");
}

class switch_publish_on_sql : public on_sql_server {};
HOLDFAST_ON_EACH_SQL_SERVER(switch_publish_on_sql);

TEST_P(switch_publish_on_sql, tells_clients) {
    redis_server redis;
    auto how = settings(redis.url());
    how.policies = {{.name = "job", .match = "*"}};
    how.switch_source = "arbiter:name=shop," + server.url();
    client c{how};
    ASSERT_TRUE(mutex(c, "job").try_acquire());
    const std::string forced = R"({"holdfast": 1, "serial": 1, "breaker": {"forced": "open"}})";
    EXPECT_TRUE(admin::publish_document(how, forced));
    EXPECT_TRUE(eventually(patience, [&] {
        return code_of([&] { (void)mutex(c, "job").try_acquire(); }) == errc::unavailable;
    }));
    EXPECT_NE(message_of([&] { (void)mutex(c, "job").try_acquire(); }).find("keeps the breaker open"),
              std::string::npos);
    event_recorder events{c};
    server.pause();
    EXPECT_TRUE(events.has(event_kind::source_down));
    EXPECT_EQ(code_of([&] { (void)mutex(c, "job").try_acquire(); }), errc::unavailable)
        << "the last document counts";
    server.resume();
    EXPECT_TRUE(events.has(event_kind::source_up));
}

}  // namespace
}  // namespace holdfast::test
