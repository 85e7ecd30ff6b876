// Which policy a lock has (policy.hpp), and which policies a client refuses.
#include "server/scene.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

class policies : public ::testing::Test {
  protected:
    [[nodiscard]] client client_with(std::vector<policy> all) const {
        auto c = settings(server.url());
        c.policies = std::move(all);
        return client{std::move(c)};
    }
    template <class Fn>
    static std::string refusal(Fn&& fn) {
        EXPECT_EQ(code_of(fn), errc::invalid_argument);
        return message_of(fn);
    }

    redis_server server;
};

TEST_F(policies, belong_to_the_locks_that_match_or_name_them) {
    auto c = client_with({{.name = "stock", .match = "stock:*", .outage = on_outage::fail_open_process},
                          {.name = "named", .outage = on_outage::fail_open_process},
                          {.name = "money", .match = "account:*"}});
    server.stop();
    EXPECT_TRUE(mutex(c, "stock:42").try_acquire());
    EXPECT_TRUE(mutex(c, "invoice", {.policy = "named"}).try_acquire());
    EXPECT_TRUE(mutex(c, "account:1", {.policy = "named"}).try_acquire());
    for (const auto* const name : {"account:7", "stock", "other"}) {
        const auto code = code_of([&] { (void)mutex(c, name).try_acquire(); });
        EXPECT_TRUE(code == errc::unavailable || code == errc::unknown_outcome) << name << code.message();
    }
}

TEST_F(policies, of_one_lock_are_one) {
    auto c = client_with({{.name = "a", .match = "both:*"}, {.name = "b", .match = "*:both"}});
    EXPECT_NE(refusal([&] { mutex(c, "both:both"); }).find("two policies"), std::string::npos);
    const mutex first{c, "both:both", {.policy = "a"}};
    EXPECT_NE(refusal([&] { mutex(c, "both:both", {.policy = "b"}); }).find("another policy"),
              std::string::npos);
    EXPECT_NE(refusal([&] { mutex(c, "x", {.policy = "c"}); }).find("\"a\", \"b\""), std::string::npos);
}

TEST_F(policies, are_checked_when_the_client_is_made) {
    const auto wrong = [&](policy p) { return refusal([&] { (void)client_with({p}); }); };
    EXPECT_NE(wrong({.name = ""}).find("name"), std::string::npos);
    EXPECT_NE(wrong({.name = "with space"}).find("name"), std::string::npos);
    EXPECT_NE(wrong({.name = "a", .tries = 0}).find("100 times"), std::string::npos);
    EXPECT_NE(wrong({.name = "a", .pause = 11s}).find("10 s"), std::string::npos);
    EXPECT_NE(wrong({.name = "a", .substitute = "file:/tmp"}).find("substitute"), std::string::npos);
    EXPECT_NE(refusal([&] {
                  (void)client_with({{.name = "a"}, {.name = "a"}});
              }).find("twice"),
              std::string::npos);
}

TEST_F(policies, switch_source_is_a_file_or_a_configuration_in_nacos) {
    config how = settings(server.url());
    for (const auto* const wrong :
         {"file:relative", "/etc/switch", "consul://127.0.0.1/a", "nacos://127.0.0.1:8848/a/b",
          "nacos://user:secret@127.0.0.1:8848/a/b/c d"}) {
        how.switch_source = wrong;
        const auto said = refusal([&] { client c{how}; });
        EXPECT_NE(said.find("switch_source"), std::string::npos) << said;
        EXPECT_EQ(said.find("secret"), std::string::npos) << said;
    }
    how.switch_source = "file:/nowhere/switch";
    EXPECT_TRUE(mutex(*std::make_unique<client>(how), "stock").try_acquire())
        << "an event reports what is missing";
}

// Without a policy the last of these would have waited for an answer, too.
TEST_F(policies, that_fail_closed_fail_fast) {
    auto how = settings(server.url());
    how.policies = {{.name = "job", .match = "job:*"}};
    how.answer_timeout = 300ms * slower;
    client c{how};
    const auto fails = [&](const std::string& name) {
        const auto code = code_of([&] { (void)mutex(c, name).try_acquire(); });
        return code == errc::unavailable || code == errc::unknown_outcome;
    };
    ASSERT_FALSE(fails("job:1"));
    server.pause();
    const auto is_refused_at_once = [&] {
        const auto sent = c.stats().commands_sent;
        return fails("job:1") && c.stats().commands_sent == sent &&
               message_of([&] { (void)mutex(c, "job:1").try_acquire(); }).find("failed several times") !=
                   std::string::npos;
    };
    ASSERT_TRUE(eventually(patience, is_refused_at_once));
    EXPECT_TRUE(fails("other")) << "it has no policy, and waits for an answer";

    auto waiter = in_background([&] { return mutex(c, "job:2").try_acquire_for(patience); });
    EXPECT_FALSE(ready(waiter, 50ms)) << "a call that waits goes on waiting";
    server.resume();
    EXPECT_TRUE(waiter.get());
    EXPECT_TRUE(eventually(patience, [&] { return !fails("job:1"); }));
}

// The client has one breaker for its store, whichever policies its locks have.
TEST_F(policies, report_once_that_the_store_has_failed_and_that_it_works) {
    auto how = settings(server.url());
    how.policies = {{.name = "job", .match = "job:*"},
                    {.name = "stock", .match = "stock:*", .outage = on_outage::fail_open_process}};
    how.answer_timeout = 300ms * slower;
    client c{how};
    event_recorder events{c};
    ASSERT_TRUE(mutex(c, "job:1").try_acquire());
    server.pause();
    const auto ask_all = [&] {
        (void)code_of([&] { (void)mutex(c, "job:1").try_acquire(); });
        (void)code_of([&] { (void)mutex(c, "stock:1").try_acquire(); });
    };
    ASSERT_TRUE(eventually(patience, [&] {
        ask_all();
        return events.count(event_kind::breaker_open) > 0;
    }));
    const auto opened = events.last(event_kind::breaker_open);
    EXPECT_EQ(opened.detail.find(server.url() + ": several requests in a row have failed"), 0U)
        << opened.detail;
    EXPECT_EQ(opened.reason, errc::unavailable);
    for (int i = 0; i < 3; ++i) ask_all();
    event_recorder late{c};
    EXPECT_TRUE(late.has(event_kind::breaker_open)) << "it is still so";
    server.resume();
    ASSERT_TRUE(eventually(patience, [&] {
        ask_all();
        return events.count(event_kind::breaker_closed) > 0;
    }));
    EXPECT_EQ(events.last(event_kind::breaker_closed).detail, server.url() + ": it works again");
    EXPECT_EQ(events.count(event_kind::breaker_open), 1U);
    EXPECT_EQ(events.count(event_kind::breaker_closed), 1U);
}

TEST_F(policies, busy_is_no_failure_for_them) {
    auto c = client_with({{.name = "job", .match = "job:*"}});
    client other{settings(server.url())};
    const auto theirs = mutex(other, "job:1").acquire();
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(mutex(c, "job:1").try_acquire());
    EXPECT_TRUE(mutex(c, "job:2").try_acquire());
}

TEST_F(policies, that_change_the_store_need_one_that_changes) {
    EXPECT_NE(refusal([&] {
                  (void)client_with({{.name = "money", .outage = on_outage::switch_joint}});
              }).find("needs a joint: URL"),
              std::string::npos);
    const temp_dir folder;
    auto how = settings("joint:" + server.url() + ",sqlite:" + (folder.path() / "locks").string());
    how.policies = {{.name = "money", .outage = on_outage::switch_joint}};
    EXPECT_NO_THROW(client{how});
}

TEST_F(policies, that_fail_open_need_a_store_on_a_server) {
    config how;
    how.url = "local:";
    how.policies = {{.name = "a", .outage = on_outage::fail_open_process}};
    EXPECT_NE(refusal([&] { client c{how}; }).find("fails open"), std::string::npos);
    how.url = server.url();
    how.policies = {{.name = "a", .outage = on_outage::fail_open_host, .substitute = "local:"}};
    EXPECT_NE(refusal([&] { client c{how}; }).find("store of this machine"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::test
