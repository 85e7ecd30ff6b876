#include "backends/redis/gate.hpp"

#include <holdfast/error.hpp>

#include <gtest/gtest.h>

namespace holdfast::redis_backend {
namespace {

using namespace std::chrono_literals;
using backend::time_point;
using redis::node_event;

class a_gate : public ::testing::Test {
  protected:
    static constexpr auto longest = 10s;
    static constexpr auto sentence = 10'102ms;  // and what clocks may drift
    const time_point start{1h};

    static node_event master(const std::string& run, std::chrono::seconds uptime = 1h) {
        node_event e{.kind = node_event::what::up};
        e.server.address = "db:6379";
        e.server.run_id = run;
        e.server.replid = "history of " + run;
        e.server.uptime = uptime;
        return e;
    }
    static node_event promoted(const std::string& run, const std::string& replid = "new") {
        auto e = master(run);
        e.server.promoted = true;
        e.server.replid = replid;
        return e;
    }
    static node_event moved(node_event e) {
        e.moved_from = "db:1";
        return e;
    }
    static bool open(const gate& g, time_point now) { return !g.behind(now); }
    // Out from `from` on, for the whole sentence.
    static void expect_sentence(const gate& g, time_point from) {
        EXPECT_FALSE(open(g, from));
        EXPECT_FALSE(open(g, from + sentence - 1ms));
        EXPECT_TRUE(open(g, from + sentence));
    }

    gate restarts{{.after_restart = true, .longest_lease = longest}};
    gate failovers{{.after_failover = true, .longest_lease = longest}};
    gate both{{.after_restart = true, .after_failover = true, .longest_lease = longest}};
};

TEST_F(a_gate, lets_nothing_pass_while_nobody_knows_who_answers) {
    EXPECT_FALSE(open(restarts, start));
    EXPECT_FALSE(restarts.before(1s, start)) << "it may be sent: another may answer";
    restarts.up(master("a"), start);
    EXPECT_TRUE(open(restarts, start));
    restarts.down(start);
    EXPECT_FALSE(open(restarts, start));
    EXPECT_FALSE(restarts.before(1s, start));
    restarts.up(master("a"), start);
    EXPECT_TRUE(open(restarts, start));
}

TEST_F(a_gate, keeps_out_a_server_that_was_started_anew) {
    restarts.up(master("a"), start);
    restarts.up(master("b", 0s), start + 1s);
    expect_sentence(restarts, start + 1s);
    const auto no = restarts.before(1s, start + 2s);
    ASSERT_TRUE(no);
    EXPECT_EQ(no->code, errc::quarantined);
    EXPECT_EQ(no->look_again, sentence - 1s);
    EXPECT_NE(no->text.find("db:6379 was started so lately"), std::string::npos) << no->text;
    EXPECT_FALSE(restarts.question(start + 2s)) << "that is for promotions";
}

TEST_F(a_gate, keeps_out_one_that_has_not_run_for_long_when_it_is_met) {
    restarts.up(master("a", 3s), start);
    EXPECT_FALSE(open(restarts, start));
    EXPECT_TRUE(open(restarts, start + sentence));
}

TEST_F(a_gate, trusts_what_it_was_told_to_trust) {
    failovers.up(master("a", 0s), start);
    EXPECT_TRUE(open(failovers, start));
    failovers.up(master("b", 0s), start);
    EXPECT_TRUE(open(failovers, start));
    restarts.up(master("a"), start);
    restarts.up(moved(promoted("b")), start);
    EXPECT_TRUE(open(restarts, start)) << "a failover, and the server has run for long";
}

TEST_F(a_gate, keeps_out_one_that_was_promoted) {
    for (auto* g : {&failovers, &both}) {
        g->up(master("a"), start);
        EXPECT_TRUE(open(*g, start));
        g->down(start);
        g->up(moved(promoted("b")), start + 1s);
        expect_sentence(*g, start + 1s);
    }
    gate first_met{{.after_failover = true, .longest_lease = longest}};
    first_met.up(promoted("b"), start);
    expect_sentence(first_met, start);
}

TEST_F(a_gate, keeps_out_one_at_another_place_whatever_it_says) {
    failovers.up(master("a"), start);
    failovers.up(moved(master("b")), start + 1s);
    expect_sentence(failovers, start + 1s);
}

TEST_F(a_gate, counts_a_second_promotion_of_the_same_run) {
    failovers.up(promoted("b", "first"), start);
    failovers.up(promoted("b", "first"), start + 60s);
    EXPECT_TRUE(open(failovers, start + 60s));
    failovers.up(promoted("b", "second"), start + 120s);
    expect_sentence(failovers, start + 120s);
}

TEST_F(a_gate, does_not_take_another_server_at_the_same_place_for_a_restart) {
    failovers.up(promoted("b"), start);
    EXPECT_TRUE(open(failovers, start + 60s));
    failovers.down(start + 60s);
    failovers.up(master("a"), start + 61s);
    expect_sentence(failovers, start + 61s);

    gate trusting{{.after_failover = true, .longest_lease = longest}};
    trusting.up(master("a"), start);
    trusting.down(start + 60s);
    trusting.up(master("a2", 1s), start + 62s);
    EXPECT_TRUE(open(trusting, start + 62s)) << "it was started since";
}

TEST_F(a_gate, does_not_end_a_quarantine_because_of_a_restart) {
    failovers.up(promoted("b"), start);
    failovers.down(start + 1s);
    failovers.up(master("b2", 0s), start + 2s);
    EXPECT_FALSE(open(failovers, start + sentence - 1ms));
    EXPECT_TRUE(open(failovers, start + sentence));
}

TEST_F(a_gate, counts_from_the_first_grant_of_one_that_was_a_replica) {
    auto replica = master("b");
    replica.server.role = "slave";
    failovers.up(replica, start);
    EXPECT_FALSE(open(failovers, start + 1s));
    EXPECT_FALSE(failovers.before(1s, start + 1s)) << "it may have been promoted meanwhile";
    failovers.took_a_write(start + 60s);
    expect_sentence(failovers, start + 60s);
    failovers.took_a_write(start + 65s);
    EXPECT_TRUE(open(failovers, start + 60s + sentence));
    restarts.up(replica, start);
    EXPECT_TRUE(open(restarts, start)) << "who was promoted does not matter here";
}

TEST_F(a_gate, believes_who_saw_the_promotion_before) {
    failovers.up(promoted("b"), start);
    const auto which = failovers.question(start);
    EXPECT_EQ(which, "b:new");
    EXPECT_FALSE(failovers.before(1s, start)) << "the note may say that it is over";
    failovers.noted(*which, 4s, start);
    EXPECT_FALSE(failovers.question(start));
    EXPECT_FALSE(open(failovers, start + sentence - 4s - 1ms));
    EXPECT_TRUE(open(failovers, start + sentence - 4s));
    gate old{{.after_failover = true, .longest_lease = longest}};
    old.up(promoted("b"), start);
    old.noted("b:new", 1h, start);
    EXPECT_TRUE(open(old, start));
}

TEST_F(a_gate, does_not_take_a_note_for_another_server) {
    failovers.up(promoted("b"), start);
    failovers.noted("a:new", 1h, start);
    failovers.noted("b:old", 1h, start);
    expect_sentence(failovers, start);
}

TEST_F(a_gate, waits_it_out_where_nothing_can_be_noted) {
    failovers.up(promoted("b"), start);
    failovers.cannot_be_noted("b:new", "no right");
    expect_sentence(failovers, start);
    const auto no = failovers.before(1s, start);
    ASSERT_TRUE(no);
    EXPECT_NE(no->text.find("promoted"), std::string::npos) << no->text;
    EXPECT_NE(no->text.find("no right"), std::string::npos) << no->text;
}

TEST_F(a_gate, never_opens_for_who_hides_what_it_is) {
    auto hidden = master("");
    restarts.up(hidden, start);
    EXPECT_FALSE(open(restarts, start + 1h));
    EXPECT_EQ(restarts.before(1s, start)->code, errc::no_permission);
    EXPECT_FALSE(restarts.before(1s, start)->look_again);
    auto silent = master("a");
    silent.server.replid.clear();
    failovers.up(silent, start);
    EXPECT_FALSE(open(failovers, start + 1h));
    restarts.up(silent, start);
    EXPECT_TRUE(open(restarts, start)) << "who was promoted does not matter here";
}

TEST_F(a_gate, refuses_a_lease_that_outlives_the_quarantine) {
    EXPECT_EQ(restarts.before(longest + 1ms, start)->code, errc::invalid_argument);
    restarts.up(master("a"), start);
    EXPECT_FALSE(restarts.before(longest, start));
}

}  // namespace
}  // namespace holdfast::redis_backend
