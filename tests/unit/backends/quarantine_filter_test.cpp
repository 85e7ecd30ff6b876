#include "backends/redis/data_loss/quarantine_filter.hpp"

#include <holdfast/error.hpp>

#include <gtest/gtest.h>

namespace holdfast::redis_backend {
namespace {

using namespace std::chrono_literals;
using backend::time_point;
using redis::node_event;

class quarantine : public ::testing::Test {
  protected:
    static constexpr auto longest = 10s;
    static constexpr auto quarantine_time = 10'102ms;  // and the clock drift
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
    static bool grants(const quarantine_filter& g, time_point now) { return !g.refuse_answer(now); }
    // Quarantined from `from` on, for the whole quarantine_time.
    static void expect_quarantine(const quarantine_filter& g, time_point from) {
        EXPECT_FALSE(grants(g, from));
        EXPECT_FALSE(grants(g, from + quarantine_time - 1ms));
        EXPECT_TRUE(grants(g, from + quarantine_time));
    }

    quarantine_filter restarts{{.after_restart = true, .longest_lease = longest}};
    quarantine_filter failovers{{.after_failover = true, .longest_lease = longest}};
    quarantine_filter both{{.after_restart = true, .after_failover = true, .longest_lease = longest}};
};

TEST_F(quarantine, applies_while_the_server_is_not_known) {
    EXPECT_FALSE(grants(restarts, start));
    EXPECT_FALSE(restarts.refuse_request(1s, start)) << "the request may be sent: another server may answer";
    restarts.on_up(master("a"), start);
    EXPECT_TRUE(grants(restarts, start));
    restarts.on_down(start);
    EXPECT_FALSE(grants(restarts, start));
    EXPECT_FALSE(restarts.refuse_request(1s, start));
    restarts.on_up(master("a"), start);
    EXPECT_TRUE(grants(restarts, start));
}

TEST_F(quarantine, applies_to_a_restarted_server) {
    restarts.on_up(master("a"), start);
    restarts.on_up(master("b", 0s), start + 1s);
    expect_quarantine(restarts, start + 1s);
    const auto no = restarts.refuse_request(1s, start + 2s);
    ASSERT_TRUE(no);
    EXPECT_EQ(no->code, errc::quarantined);
    EXPECT_EQ(no->look_again, quarantine_time - 1s);
    EXPECT_NE(no->text.find("db:6379 was started so recently"), std::string::npos) << no->text;
    EXPECT_FALSE(restarts.unknown_promotion(start + 2s)) << "only promotions have a note";
}

TEST_F(quarantine, applies_to_a_server_that_started_shortly_before_it_is_met) {
    restarts.on_up(master("a", 3s), start);
    EXPECT_FALSE(grants(restarts, start));
    EXPECT_TRUE(grants(restarts, start + quarantine_time));
}

TEST_F(quarantine, applies_only_to_the_configured_events) {
    failovers.on_up(master("a", 0s), start);
    EXPECT_TRUE(grants(failovers, start));
    failovers.on_up(master("b", 0s), start);
    EXPECT_TRUE(grants(failovers, start));
    restarts.on_up(master("a"), start);
    restarts.on_up(moved(promoted("b")), start);
    EXPECT_TRUE(grants(restarts, start)) << "a failover to a server that has run long";
}

TEST_F(quarantine, applies_to_a_promoted_server) {
    for (auto* g : {&failovers, &both}) {
        g->on_up(master("a"), start);
        EXPECT_TRUE(grants(*g, start));
        g->on_down(start);
        g->on_up(moved(promoted("b")), start + 1s);
        expect_quarantine(*g, start + 1s);
    }
    quarantine_filter first_met{{.after_failover = true, .longest_lease = longest}};
    first_met.on_up(promoted("b"), start);
    expect_quarantine(first_met, start);
}

TEST_F(quarantine, applies_to_any_server_at_another_address) {
    failovers.on_up(master("a"), start);
    failovers.on_up(moved(master("b")), start + 1s);
    expect_quarantine(failovers, start + 1s);
}

TEST_F(quarantine, begins_again_with_a_second_promotion_of_the_same_run) {
    failovers.on_up(promoted("b", "first"), start);
    failovers.on_up(promoted("b", "first"), start + 60s);
    EXPECT_TRUE(grants(failovers, start + 60s));
    failovers.on_up(promoted("b", "second"), start + 120s);
    expect_quarantine(failovers, start + 120s);
}

TEST_F(quarantine, distinguishes_another_server_at_one_address_from_a_restart) {
    failovers.on_up(promoted("b"), start);
    EXPECT_TRUE(grants(failovers, start + 60s));
    failovers.on_down(start + 60s);
    failovers.on_up(master("a"), start + 61s);
    expect_quarantine(failovers, start + 61s);

    quarantine_filter trusting{{.after_failover = true, .longest_lease = longest}};
    trusting.on_up(master("a"), start);
    trusting.on_down(start + 60s);
    trusting.on_up(master("a2", 1s), start + 62s);
    EXPECT_TRUE(grants(trusting, start + 62s)) << "the server was started since";
}

TEST_F(quarantine, does_not_end_with_a_restart) {
    failovers.on_up(promoted("b"), start);
    failovers.on_down(start + 1s);
    failovers.on_up(master("b2", 0s), start + 2s);
    EXPECT_FALSE(grants(failovers, start + quarantine_time - 1ms));
    EXPECT_TRUE(grants(failovers, start + quarantine_time));
}

TEST_F(quarantine, begins_with_the_first_grant_of_a_former_replica) {
    auto replica = master("b");
    replica.server.role = "slave";
    failovers.on_up(replica, start);
    EXPECT_FALSE(grants(failovers, start + 1s));
    EXPECT_FALSE(failovers.refuse_request(1s, start + 1s)) << "it may have been promoted meanwhile";
    failovers.on_write_accepted(start + 60s);
    expect_quarantine(failovers, start + 60s);
    failovers.on_write_accepted(start + 65s);
    EXPECT_TRUE(grants(failovers, start + 60s + quarantine_time));
    restarts.on_up(replica, start);
    EXPECT_TRUE(grants(restarts, start)) << "promotions do not matter here";
}

TEST_F(quarantine, is_shortened_by_the_note_of_an_earlier_client) {
    failovers.on_up(promoted("b"), start);
    const auto which = failovers.unknown_promotion(start);
    EXPECT_EQ(which, "b:new");
    EXPECT_FALSE(failovers.refuse_request(1s, start)) << "the note may say that it is over";
    failovers.promotion_noted(*which, 4s, start);
    EXPECT_FALSE(failovers.unknown_promotion(start));
    EXPECT_FALSE(grants(failovers, start + quarantine_time - 4s - 1ms));
    EXPECT_TRUE(grants(failovers, start + quarantine_time - 4s));
    quarantine_filter old{{.after_failover = true, .longest_lease = longest}};
    old.on_up(promoted("b"), start);
    old.promotion_noted("b:new", 1h, start);
    EXPECT_TRUE(grants(old, start));
}

TEST_F(quarantine, ignores_notes_about_another_server) {
    failovers.on_up(promoted("b"), start);
    failovers.promotion_noted("a:new", 1h, start);
    failovers.promotion_noted("b:old", 1h, start);
    expect_quarantine(failovers, start);
}

TEST_F(quarantine, has_its_full_length_if_no_note_can_be_written) {
    failovers.on_up(promoted("b"), start);
    failovers.promotion_cannot_be_noted("b:new", "no right");
    expect_quarantine(failovers, start);
    const auto no = failovers.refuse_request(1s, start);
    ASSERT_TRUE(no);
    EXPECT_NE(no->text.find("promoted"), std::string::npos) << no->text;
    EXPECT_NE(no->text.find("no right"), std::string::npos) << no->text;
}

TEST_F(quarantine, never_ends_for_a_server_that_hides_its_identity) {
    auto hidden = master("");
    restarts.on_up(hidden, start);
    EXPECT_FALSE(grants(restarts, start + 1h));
    EXPECT_EQ(restarts.refuse_request(1s, start)->code, errc::no_permission);
    EXPECT_FALSE(restarts.refuse_request(1s, start)->look_again);
    auto silent = master("a");
    silent.server.replid.clear();
    failovers.on_up(silent, start);
    EXPECT_FALSE(grants(failovers, start + 1h));
    restarts.on_up(silent, start);
    EXPECT_TRUE(grants(restarts, start)) << "promotions do not matter here";
}

TEST_F(quarantine, rejects_leases_that_outlive_it) {
    EXPECT_EQ(restarts.refuse_request(longest + 1ms, start)->code, errc::invalid_argument);
    restarts.on_up(master("a"), start);
    EXPECT_FALSE(restarts.refuse_request(longest, start));
}

}  // namespace
}  // namespace holdfast::redis_backend
