#include "nacos/config_watch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::nacos {
namespace {

using namespace std::chrono_literals;

const std::string md5_a(32, 'a');
const std::string md5_b(32, 'b');

answer text_is(const std::string& text, const std::string& md5) { return {200, text, md5}; }
answer status(int code) { return {code}; }
answer v3_text(const std::string& text, const std::string& md5) {
    return {200, R"({"code":0,"data":{"content":")" + text + R"(","md5":")" + md5 + "\"}}"};
}
answer v3_missing() { return {200, R"({"code":20004,"message":"resource not found","data":null})"}; }
answer changed() { return {200, "id%02group%01\n"}; }
answer token(const std::string& is = "t1", int lives = 18'000) {
    return {200, R"({"accessToken":")" + is + R"(","tokenTtl":)" + std::to_string(lives) + "}"};
}

// Plays the servers, and the clock.
class watch : public ::testing::Test {
  protected:
    void begin(const std::string& url = "nacos://h/public/group/id") {
        machine.emplace(parse_address(url), [] { return 0.0; });
        take(machine->begin(now));
    }
    // After so long the server answers.
    void reply(answer a, boot_clock::duration after = 5ms) {
        ASSERT_TRUE(std::holds_alternative<request>(next)) << "nothing was asked";
        now += after;
        take(machine->on_reply(std::move(a), now));
    }
    void no_reply(boot_clock::duration after = 5ms) {
        ASSERT_TRUE(std::holds_alternative<request>(next)) << "nothing was asked";
        now += after;
        take(machine->on_reply(no_answer{"refused"}, now));
    }
    // The time of the pause that was ordered.
    boot_clock::duration pause() {
        const auto* const p = std::get_if<config_watch::pause>(&next);
        if (p == nullptr) {
            ADD_FAILURE() << "no pause, but " << asked();
            return {};
        }
        const auto time = p->until - now;
        now = p->until;
        take(machine->on_pause_over(now));
        return time;
    }

    // What is asked now, in a word, and of which server unless it is the first.
    [[nodiscard]] std::string asked() const {
        const auto* const r = std::get_if<request>(&next);
        if (r == nullptr) return "nothing";
        const auto has = [&](const char* part) { return r->target.find(part) != std::string::npos; };
        std::string word = has("/v1/auth/login")      ? "login"
                           : has("/v3/auth/user/")    ? "login v3"
                           : has("/v3/client/cs/")    ? "read v3"
                           : has("/configs/listener") ? (is_held() ? "poll" : "probe")
                                                      : "read";
        if (r->server > 0) word += " @" + std::to_string(r->server);
        return word;
    }
    [[nodiscard]] bool is_held() const { return header("Long-Pulling-Timeout") != ""; }
    [[nodiscard]] std::string header(const std::string& name) const {
        for (const auto& h : std::get<request>(next).headers)
            if (h.starts_with(name + ": ")) return h.substr(name.size() + 2);
        return "";
    }
    [[nodiscard]] const request& sent() const { return std::get<request>(next); }
    // What was learned since the last call.
    std::vector<std::string> learned() { return std::exchange(learned_, {}); }

    time_point now{1h};
    std::optional<config_watch> machine;
    std::variant<request, config_watch::pause> next;

  private:
    void take(config_watch::step s) {
        next = std::move(s.next);
        for (const auto& one : s.learned) {
            if (const auto* const t = std::get_if<config_watch::text>(&one))
                learned_.push_back(t->is);
            else if (std::holds_alternative<config_watch::no_text>(one))
                learned_.emplace_back("no text");
            else if (const auto* const no = std::get_if<config_watch::unreachable>(&one))
                learned_.push_back("unreachable: " + no->why);
            else
                learned_.emplace_back("no long poll");
        }
    }
    std::vector<std::string> learned_;
};

using words = std::vector<std::string>;

const std::string two_servers = "nacos://h,i/public/group/id";
const std::string with_login = "nacos://li:p%26w@h/public/group/id";

TEST_F(watch, reads_then_polls_and_reads_what_changed) {
    begin();
    EXPECT_EQ(asked(), "read");
    EXPECT_EQ(sent().target, "/nacos/v1/cs/configs?dataId=id&group=group");
    reply(text_is("one", md5_a));
    EXPECT_EQ(learned(), words{"one"});
    EXPECT_EQ(asked(), "poll");
    EXPECT_EQ(sent().form, "Listening-Configs=id%02group%02" + md5_a + "%01");
    EXPECT_EQ(header("Long-Pulling-Timeout"), "30000");
    EXPECT_EQ(sent().time_limit, 35s) << "servers need a moment more";
    reply(status(200), 30s);
    EXPECT_EQ(asked(), "poll") << "nothing is new";
    reply(changed(), 7s);
    EXPECT_EQ(asked(), "read");
    reply(text_is("two", md5_b));
    EXPECT_EQ(learned(), words{"two"});
    EXPECT_EQ(sent().form, "Listening-Configs=id%02group%02" + md5_b + "%01");
}

TEST_F(watch, names_the_namespace) {
    begin("nacos://h/space/group/id");
    EXPECT_EQ(sent().target, "/nacos/v1/cs/configs?dataId=id&group=group&tenant=space");
    reply(text_is("one", md5_a));
    EXPECT_EQ(sent().form, "Listening-Configs=id%02group%02" + md5_a + "%02space%01");
}

TEST_F(watch, repeats_a_read_that_still_shows_the_old_text) {
    begin();
    reply(text_is("one", md5_a));
    reply(changed(), 1s);
    (void)learned();
    reply(text_is("one", md5_a));
    EXPECT_EQ(learned(), words{});
    EXPECT_EQ(pause(), 100ms);
    reply(text_is("one", md5_a));
    EXPECT_EQ(pause(), 200ms);
    reply(text_is("two", md5_b));
    EXPECT_EQ(learned(), words{"two"});
    EXPECT_EQ(asked(), "poll");
}

// A server whose poll says "changed" for ever is not asked in a loop without pauses.
TEST_F(watch, asks_seldom_while_polls_and_reads_contradict_each_other) {
    begin();
    reply(text_is("one", md5_a));
    const auto start = now;
    int requests = 0;
    while (now - start < 60s) {
        if (std::holds_alternative<config_watch::pause>(next)) {
            (void)pause();
        } else {
            ++requests;
            if (asked() == "poll")
                reply(changed());
            else
                reply(text_is("one", md5_a));
        }
    }
    EXPECT_LT(requests, 200);
}

TEST_F(watch, polls_with_an_empty_md5_after_the_text_was_deleted) {
    begin();
    reply(text_is("one", md5_a));
    reply(changed(), 1s);
    (void)learned();
    // A text that replaces another one may be missing for a moment.
    while (asked() == "read") {
        reply(status(404));
        if (asked() == "nothing") (void)pause();
    }
    EXPECT_EQ(learned(), words{"no text"});
    EXPECT_EQ(asked(), "poll");
    EXPECT_EQ(sent().form, "Listening-Configs=id%02group%02%01")
        << "the old md5 is answered at once for ever";
    reply(changed(), 1s);
    reply(text_is("two", md5_b));
    EXPECT_EQ(learned(), words{"two"});
}

TEST_F(watch, does_not_take_a_text_that_is_missing_for_a_moment_for_deleted) {
    begin();
    reply(text_is("one", md5_a));
    reply(changed(), 1s);
    (void)learned();
    reply(status(404));
    EXPECT_EQ(pause(), 100ms);
    reply(text_is("two", md5_b));
    EXPECT_EQ(learned(), words{"two"});
}

TEST_F(watch, probes_a_server_that_has_no_text) {
    begin();
    reply(status(404));
    EXPECT_EQ(asked(), "probe");
    EXPECT_EQ(learned(), words{}) << "perhaps it lacks version 1";
    reply(status(200));
    EXPECT_EQ(learned(), words{"no text"});
    EXPECT_EQ(asked(), "poll");
    reply(changed(), 1s);
    reply(text_is("one", md5_a));
    EXPECT_EQ(learned(), words{"one"});
}

TEST_F(watch, reads_a_server_without_version_1_every_five_seconds) {
    for (const int gone : {404, 410, 501}) {
        begin();
        reply(status(gone));
        if (gone == 404) reply(status(404));  // the probe
        EXPECT_EQ(asked(), "read v3") << gone;
        EXPECT_EQ(sent().target, "/nacos/v3/client/cs/config?dataId=id&groupName=group");
        reply(v3_missing());
        EXPECT_EQ(learned(), words{"no text"}) << gone;
        EXPECT_EQ(pause(), 4s) << "5 s with jitter";
        reply(v3_text("one", md5_a));
        EXPECT_EQ(learned(), (words{"one", "no long poll"}));
        EXPECT_EQ(pause(), 4s);
        reply(v3_text("two", md5_b));
        EXPECT_EQ(learned(), words{"two"}) << "that there are no long polls is told once";
        EXPECT_EQ(pause(), 4s);
        EXPECT_EQ(asked(), "read v3");
    }
}

TEST_F(watch, goes_over_to_version_3_when_the_server_was_upgraded) {
    begin();
    reply(text_is("one", md5_a));
    reply(status(404));
    EXPECT_EQ(asked(), "read v3");
    reply(v3_text("one", md5_a));
    EXPECT_EQ(learned(), (words{"one", "one", "no long poll"}));
}

TEST_F(watch, tries_version_1_again_after_an_error) {
    begin();
    reply(status(410));
    reply(v3_text("one", md5_a));
    (void)pause();
    no_reply();
    (void)pause();
    EXPECT_EQ(asked(), "read");
    reply(text_is("one", md5_a));
    EXPECT_EQ(asked(), "poll");
}

// A server that is being stopped leaves polls without an answer.
TEST_F(watch, takes_silence_of_a_poll_for_no_news) {
    begin();
    reply(text_is("one", md5_a));
    (void)learned();
    no_reply(35s);
    EXPECT_EQ(learned(), words{});
    EXPECT_EQ(asked(), "read");
    reply(text_is("one", md5_a));
    EXPECT_EQ(asked(), "poll");
}

// Such as a proxy that cuts requests which take long.
TEST_F(watch, polls_less_often_while_polls_fail) {
    begin();
    reply(text_is("one", md5_a));
    std::vector<boot_clock::duration> pauses;
    for (int i = 0; i < 9; ++i) {
        no_reply(1s);
        reply(text_is("one", md5_a));
        if (asked() == "nothing") pauses.push_back(pause());
        ASSERT_EQ(asked(), "poll");
    }
    EXPECT_EQ(pauses.front(), 500ms);
    EXPECT_EQ(pauses.back(), 30s);
    for (const auto& news : learned()) EXPECT_EQ(news, "one");
}

TEST_F(watch, asks_the_next_server_at_once_and_pauses_after_the_last) {
    begin(two_servers);
    no_reply();
    EXPECT_EQ(learned(), words{});
    EXPECT_EQ(asked(), "read @1");
    no_reply();
    EXPECT_EQ(learned(), words{"unreachable: i:8848: refused"});
    EXPECT_EQ(pause(), 500ms);
    EXPECT_EQ(asked(), "read");
    reply(text_is("one", md5_a));
    EXPECT_EQ(asked(), "poll");
    no_reply(35s);
    EXPECT_EQ(asked(), "read @1");
    reply(text_is("one", md5_a));
    EXPECT_EQ(asked(), "poll @1") << "it stays there";
}

TEST_F(watch, pauses_for_half_a_second_to_thirty) {
    begin();
    std::vector<boot_clock::duration> pauses;
    for (int i = 0; i < 9; ++i) {
        no_reply();
        pauses.push_back(pause());
    }
    EXPECT_EQ(pauses, (std::vector<boot_clock::duration>{500ms, 1s, 2s, 4s, 8s, 16s, 30s, 30s, 30s}));
    reply(text_is("one", md5_a));
    no_reply();
    no_reply();
    EXPECT_EQ(pause(), 500ms) << "it starts anew";
}

TEST_F(watch, takes_no_foreign_answer_for_a_text) {
    begin();
    reply({200, "<html>please log in</html>"});
    EXPECT_EQ(learned(), words{"unreachable: h:8848: its answer (HTTP 200) is not one of Nacos"});
    (void)pause();
    reply(status(503));
    EXPECT_EQ(learned(), words{"unreachable: h:8848: it answers with an error (HTTP 503)"});
    (void)pause();
    reply(status(410));
    reply({200, "<html>please log in</html>"});
    EXPECT_EQ(learned(), words{"unreachable: h:8848: its answer (HTTP 200) is not one of Nacos"});
}

TEST_F(watch, pauses_when_polls_are_answered_too_early) {
    begin();
    reply(text_is("one", md5_a));
    reply(status(200), 1ms);
    EXPECT_EQ(pause(), 500ms);
    reply(status(200), 1ms);
    EXPECT_EQ(pause(), 1s);
    EXPECT_EQ(asked(), "poll");
}

// --- login -------------------------------------------------------------------------------------------

TEST_F(watch, logs_in_first) {
    begin(with_login);
    EXPECT_EQ(asked(), "login");
    EXPECT_EQ(sent().form, "username=li&password=p%26w");
    reply(token("t1"));
    EXPECT_EQ(asked(), "read");
    EXPECT_EQ(header("Authorization"), "Bearer t1");
    reply(text_is("one", md5_a));
    EXPECT_EQ(header("Authorization"), "Bearer t1");
    EXPECT_EQ(sent().target.find("t1"), std::string::npos) << "logs show it";
}

TEST_F(watch, logs_in_by_version_3_where_version_1_is_gone) {
    for (const int gone : {404, 410, 501, 403}) {
        begin(with_login);
        reply(status(gone));
        EXPECT_EQ(asked(), "login v3") << gone;
        reply(token());
        EXPECT_EQ(asked(), "read") << gone;
    }
}

TEST_F(watch, renews_the_token_when_most_of_its_life_is_over) {
    begin(with_login);
    reply(token("t1", 100));
    reply(text_is("one", md5_a));
    reply(status(200), 30s);
    EXPECT_EQ(asked(), "poll");
    reply(status(200), 30s);
    EXPECT_EQ(asked(), "poll");
    reply(status(200), 30s);
    EXPECT_EQ(asked(), "login") << "after 80 s";
    reply(token("t2", 100));
    EXPECT_EQ(header("Authorization"), "Bearer t2");
}

TEST_F(watch, logs_in_once_more_when_the_token_is_refused) {
    for (const int denied : {401, 403}) {
        begin(with_login);
        reply(token("t1"));
        reply(text_is("one", md5_a));
        (void)learned();
        reply(status(denied), 1s);
        EXPECT_EQ(asked(), "login") << denied;
        reply(token("t2"));
        EXPECT_EQ(header("Authorization"), "Bearer t2");
        reply(text_is("two", md5_b));
        reply(changed(), 1s);
        reply(status(denied));
        EXPECT_EQ(asked(), "login") << "a read, " << denied;
        reply(token("t3"));
        reply(text_is("three", md5_a));
        EXPECT_EQ(learned(), (words{"two", "three"}));
    }
}

TEST_F(watch, reports_a_missing_right_and_asks_seldom) {
    begin(with_login);
    reply(token("t1"));
    reply(status(403));
    EXPECT_EQ(learned(), words{"unreachable: h:8848: the user may not read the configuration (HTTP 403)"});
    EXPECT_EQ(pause(), 500ms);
    EXPECT_EQ(asked(), "login") << "the right may be new";
}

TEST_F(watch, asks_seldom_while_it_may_read_but_not_poll) {
    begin(with_login);
    const auto start = now;
    int requests = 0;
    while (now - start < 10min) {
        if (std::holds_alternative<config_watch::pause>(next)) {
            (void)pause();
            continue;
        }
        ++requests;
        if (asked() == "login")
            reply(token());
        else if (asked() == "poll")
            reply(status(403));
        else
            reply(text_is("one", md5_a));
    }
    EXPECT_LT(requests, 120);
}

TEST_F(watch, reports_a_wrong_password_without_repeating_it) {
    begin(with_login);
    reply(status(403));
    reply(status(403));
    const auto said = learned();
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said[0], "unreachable: h:8848: the login fails: are user and password right? (HTTP 403)");
    EXPECT_EQ(pause(), 500ms);
}

TEST_F(watch, reports_that_a_password_is_wanted) {
    begin();
    reply(status(403));
    EXPECT_EQ(learned(), words{"unreachable: h:8848: it asks for a user and a password (HTTP 403)"});
}

// It becomes a header.
TEST_F(watch, takes_no_token_with_a_line_break) {
    begin(with_login);
    reply(token(R"(t1\r\nX: y)"));
    EXPECT_EQ(asked(), "login v3") << "as after an error";
}

}  // namespace
}  // namespace holdfast::nacos
