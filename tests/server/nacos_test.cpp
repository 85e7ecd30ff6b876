// config::switch_source in Nacos. The interop tests run this file with a real server.
#include "server/nacos_centre.hpp"
#include "server/scene.hpp"

#include <holdfast/admin.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace holdfast::test {
namespace {

std::string document(int serial, const std::string& mode) {
    return R"({"holdfast": 1, "serial": )" + std::to_string(serial) +
           R"(, "by": "li", "reason": "redis upgrade", "groups": {"default": {"mode": ")" + mode + R"("}}})";
}

class nacos_source : public ::testing::TestWithParam<nacos_centre::version> {
  protected:
    void TearDown() override { centre.erase(id); }

    [[nodiscard]] config with_nacos() const {
        auto how = settings(server.url());
        how.policies = {{.name = "open", .match = "*", .outage = on_outage::fail_open_process}};
        how.switch_source = centre.url(id);
        return how;
    }
    [[nodiscard]] static strength now(client& c) { return mutex(c, "stock").acquire().strength(); }
    // What was published is there, too.
    [[nodiscard]] static bool becomes(client& c, strength wanted) {
        return eventually(patience, [&] { return now(c) == wanted; });
    }

    // Of this test with this parameter.
    const std::string id = [] {
        std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
        std::replace(name.begin(), name.end(), '/', '.');
        return name;
    }();
    nacos_centre& centre = nacos(GetParam());
    redis_server server;
};

std::string name_of(const ::testing::TestParamInfo<nacos_centre::version>& one) {
    return one.param == nacos_centre::version::with_long_polls ? "long_poll" : "no_long_poll";
}
INSTANTIATE_TEST_SUITE_P(, nacos_source,
                         ::testing::Values(nacos_centre::version::with_long_polls,
                                           nacos_centre::version::without_long_polls),
                         name_of);

TEST_P(nacos_source, switches_clients) {
    centre.publish(id, document(1, "fallback"));
    client c{with_nacos()};
    event_recorder events{c};
    ASSERT_TRUE(becomes(c, strength::process_local));
    ASSERT_TRUE(events.has(event_kind::switched)) << "also to those that listen later";
    EXPECT_NE(events.last(event_kind::switched).detail.find("li: redis upgrade"), std::string::npos);
    const stopwatch time;
    centre.publish(id, document(2, "redis"));
    EXPECT_TRUE(becomes(c, strength::single));
    RecordProperty("switched_after_ms", static_cast<int>(time.took().count()));
    // Without long polls it is read every 5 s, more or less.
    EXPECT_LT(time.took(), GetParam() == nacos_centre::version::with_long_polls ? 3s + slack : 8s + slack);
    if (GetParam() == nacos_centre::version::without_long_polls) {
        ASSERT_TRUE(events.has(event_kind::source_up));
        EXPECT_NE(events.last(event_kind::source_up).detail.find("every 5 s"), std::string::npos);
    }
}

TEST_P(nacos_source, is_read_before_the_client_is_made) {
    centre.publish(id, document(1, "fallback"));
    {
        client first{with_nacos()};
        ASSERT_TRUE(becomes(first, strength::process_local));  // the server shows it by now
    }
    auto how = with_nacos();
    how.answer_timeout = 60s;  // as a stopped machine may be slow
    client c{how};
    EXPECT_EQ(now(c), strength::process_local);
}

TEST_P(nacos_source, that_was_deleted_leaves_the_last_document_in_force) {
    centre.publish(id, document(1, "fallback"));
    client c{with_nacos()};
    event_recorder events{c};
    ASSERT_TRUE(becomes(c, strength::process_local));
    centre.erase(id);
    const auto down = events.next(event_kind::source_down);
    ASSERT_TRUE(down);
    EXPECT_NE(down->detail.find("no such configuration"), std::string::npos) << down->detail;
    EXPECT_EQ(now(c), strength::process_local);
    centre.publish(id, document(2, "redis"));
    EXPECT_TRUE(becomes(c, strength::single));
    EXPECT_TRUE(events.has(event_kind::source_up));
}

TEST_P(nacos_source, that_is_bad_leaves_the_last_document_in_force) {
    centre.publish(id, document(5, "fallback"));
    client c{with_nacos()};
    event_recorder events{c};
    ASSERT_TRUE(becomes(c, strength::process_local));
    const auto complaint_about = [&](const std::string& text) {
        centre.publish(id, text);
        const auto bad = events.next(event_kind::bad_document);
        EXPECT_EQ(now(c), strength::process_local);
        return bad ? bad->detail : std::string{"no event"};
    };
    EXPECT_NE(complaint_about("{\"holdfast\": 1, ").find("no JSON"), std::string::npos);
    EXPECT_NE(complaint_about(document(4, "redis")).find("serial"), std::string::npos);
    EXPECT_NE(complaint_about(document(7, "redis") + std::string(64 * 1024, ' ')).find("64 KiB"),
              std::string::npos);
    centre.publish(id, document(6, "redis"));
    EXPECT_TRUE(becomes(c, strength::single));
}

TEST_P(nacos_source, that_is_killed_leaves_the_last_document_in_force) {
    centre.publish(id, document(1, "fallback"));
    client c{with_nacos()};
    event_recorder events{c};
    ASSERT_TRUE(becomes(c, strength::process_local));
    centre.stop();
    const auto down = events.next(event_kind::source_down);
    EXPECT_EQ(now(c), strength::process_local);
    centre.start();  // it does not know the client's token
    ASSERT_TRUE(down);
    EXPECT_EQ(down->detail.find(nacos_centre::right_password), std::string::npos) << down->detail;
    EXPECT_TRUE(events.has(event_kind::source_up));
    centre.publish(id, document(2, "redis"));
    EXPECT_TRUE(becomes(c, strength::single));
}

TEST_P(nacos_source, that_answers_nothing_leaves_the_last_document_in_force) {
    centre.publish(id, document(1, "fallback"));
    client c{with_nacos()};
    event_recorder events{c};
    ASSERT_TRUE(becomes(c, strength::process_local));
    centre.pause();
    const auto down = events.next(event_kind::source_down);
    EXPECT_EQ(now(c), strength::process_local);
    stopwatch time;
    std::make_unique<client>(with_nacos());
    const auto made_and_closed = time.took();
    centre.resume();
    EXPECT_TRUE(down);
    EXPECT_LT(made_and_closed, answer_timeout + 1s + slack) << "the limit of the first read";
    EXPECT_TRUE(events.has(event_kind::source_up));
    centre.publish(id, document(2, "redis"));
    EXPECT_TRUE(becomes(c, strength::single));
}

TEST_P(nacos_source, is_followed_when_tokens_age) {
    constexpr auto life_of_tokens = 5s;
    client c{with_nacos()};
    event_recorder events{c};
    const stopwatch time;
    int serial = 0;
    while (time.took() < 3 * life_of_tokens) {
        ++serial;
        const bool off = serial % 2 == 1;
        centre.publish(id, document(serial, off ? "fallback" : "redis"));
        ASSERT_TRUE(becomes(c, off ? strength::process_local : strength::single));
    }
    EXPECT_LE(events.count(event_kind::source_down), 1U) << "before the first document";
}

TEST_P(nacos_source, that_refuses_the_password_wishes_nothing) {
    centre.publish(id, document(1, "fallback"));
    auto how = with_nacos();
    how.switch_source = centre.url(id, "wrong-one");
    client c{how};
    event_recorder events{c};
    const auto down = events.next(event_kind::source_down);
    ASSERT_TRUE(down);
    EXPECT_NE(down->detail.find("are user and password right"), std::string::npos) << down->detail;
    EXPECT_EQ(down->detail.find("wrong-one"), std::string::npos) << down->detail;
    EXPECT_EQ(now(c), strength::single);
}

TEST_P(nacos_source, without_a_document_wishes_nothing) {
    client c{with_nacos()};
    event_recorder events{c};
    EXPECT_TRUE(events.has(event_kind::source_down));
    EXPECT_EQ(now(c), strength::single);
    centre.publish(id, document(1, "fallback"));
    EXPECT_TRUE(becomes(c, strength::process_local));
}

TEST_P(nacos_source, does_not_delay_the_end_of_a_client) {
    centre.publish(id, document(1, "fallback"));
    auto c = std::make_unique<client>(with_nacos());
    ASSERT_TRUE(becomes(*c, strength::process_local));  // so it polls, or pauses
    const stopwatch time;
    c.reset();
    EXPECT_LT(time.took(), 500ms + slack);
}

// --- a store of stores --------------------------------------------------------------------------------

class nacos_source_of_a_joint_store : public nacos_source {
  protected:
    [[nodiscard]] config joined() const {
        auto c = settings("joint:mode_lease=" + std::to_string(mode_lease / 1ms) + "ms," + server.url() +
                              "?longest_lease=2s,sqlite:" + (folder.path() / "locks").string(),
                          2s);
        c.switch_source = centre.url(id);
        return c;
    }
    [[nodiscard]] static bool uses(client& c, std::size_t level) {
        return eventually(patience, [&] { return admin::mode(c).uses_only(level); });
    }

    static constexpr auto mode_lease = 1s * slower;
    const temp_dir folder;
};
INSTANTIATE_TEST_SUITE_P(, nacos_source_of_a_joint_store,
                         ::testing::Values(nacos_centre::version::with_long_polls), name_of);

TEST_P(nacos_source_of_a_joint_store, changes_its_mode) {
    centre.publish(id, document(1, "fallback"));
    client one{joined()};
    client two{joined()};
    EXPECT_TRUE(uses(one, 1));
    centre.publish(id, document(2, "redis"));
    EXPECT_TRUE(uses(two, 0));
}

// Else each restart of Nacos would undo what an operator has decided since.
TEST_P(nacos_source_of_a_joint_store, that_is_back_does_not_repeat_its_wish) {
    centre.publish(id, document(1, "fallback"));
    client c{joined()};
    event_recorder events{c};
    ASSERT_TRUE(uses(c, 1));
    (void)admin::switch_mode(c, 0, {.by = "operator", .reason = "redis is fine"});
    ASSERT_TRUE(uses(c, 0));
    const auto epoch = admin::mode(c).epoch;
    centre.stop();
    const bool was_down = events.has(event_kind::source_down);
    centre.start();
    EXPECT_TRUE(was_down);
    ASSERT_TRUE(events.has(event_kind::source_up));
    EXPECT_FALSE(eventually(2s * slower, [&] { return admin::mode(c).epoch != epoch; }));
}

}  // namespace
}  // namespace holdfast::test
