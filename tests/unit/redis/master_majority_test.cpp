// Finds the master from answers that come in any order, late or never.
#include "redis/sentinel/master_majority.hpp"

#include <holdfast/error.hpp>

#include <gtest/gtest.h>

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using decision = master_majority::decision::what;
using answer_is = sentinel_reply::what;

sentinel_reply names(const host_port& who, std::uint64_t epoch) { return {answer_is::names, who, epoch, {}}; }
sentinel_reply silent() { return {answer_is::silent, {}, 0, {errc::unavailable, "nobody there"}}; }
sentinel_reply refuses(errc code, const char* why) { return {answer_is::refuses, {}, 0, {code, why}}; }

class master_majority_of_sentinels : public testing::Test {
  protected:
    inline static const host_port a{"10.0.0.1", 6379};
    inline static const host_port b{"10.0.0.2", 6379};
    inline static const host_port c{"10.0.0.3", 6379};

    master_majority votes{"m", {{"s1", 26379}, {"s2", 26379}, {"s3", 26380}}};
    time_point now{1h};

    // All answer at once, in the order of the sentinels.
    void all_answer(const sentinel_reply& first, const sentinel_reply& second, const sentinel_reply& third) {
        votes.await();
        votes.take(0, first, now);
        votes.take(1, second, now);
        votes.take(2, third, now);
    }
    void expect_agreed(const host_port& who) {
        const auto v = votes.decide(now);
        EXPECT_EQ(v.kind, decision::agreed) << v.why.why.text;
        EXPECT_EQ(address_text(v.master), address_text(who));
    }
    void expect_none(errc code, std::string_view says) {
        const auto v = votes.decide(now);
        ASSERT_EQ(v.kind, decision::none);
        EXPECT_EQ(v.why.why.code, code) << v.why.why.text;
        EXPECT_NE(v.why.why.text.find(says), std::string::npos) << v.why.why.text;
        const bool lasting = code != errc::unavailable;
        EXPECT_EQ(v.why.kind == connect_failure::what::refused, lasting);
    }
};

TEST_F(master_majority_of_sentinels, agrees_on_the_master_that_all_name) {
    all_answer(names(a, 0), names(a, 0), names(a, 0));
    expect_agreed(a);
}

TEST_F(master_majority_of_sentinels, follows_the_latest_failover_whichever_sentinel_reports_it) {
    all_answer(names(a, 3), names(a, 3), names(b, 4));
    expect_agreed(b);
    all_answer(names(c, 5), names(b, 4), names(b, 4));
    expect_agreed(c);
}

TEST_F(master_majority_of_sentinels, needs_a_majority_of_all_sentinels_and_not_of_reachable_ones) {
    all_answer(names(a, 3), silent(), silent());
    expect_none(
        errc::unavailable,
        "2 of 3 sentinels must name the master \"m\" and 1 does: s1:26379 names 10.0.0.1:6379 of epoch "
        "3; s2:26379 is silent (nobody there); s3:26380 is silent (nobody there)");
    all_answer(names(a, 3), names(a, 3), silent());
    expect_agreed(a);
}

TEST_F(master_majority_of_sentinels, tolerates_servers_that_are_no_sentinels_below_a_majority) {
    const sentinel_reply other{answer_is::no_sentinel, {}, 0, {errc::invalid_argument, "write redis://"}};
    all_answer(names(a, 3), names(a, 3), other);
    expect_agreed(a);
    all_answer(names(a, 3), silent(), other);
    expect_none(errc::unavailable, "s3:26380 is no Sentinel; write redis://");
    all_answer(names(a, 3), other, other);
    expect_none(errc::invalid_argument, "s2:26379 is no Sentinel; write redis://");
}

TEST_F(master_majority_of_sentinels, needs_three_of_four_sentinels) {
    master_majority four{"m", {{"s1", 1}, {"s2", 1}, {"s3", 1}, {"s4", 1}}};
    four.take(0, names(a, 1), now);
    four.take(1, names(a, 1), now);
    four.take(2, silent(), now);
    four.take(3, silent(), now);
    EXPECT_EQ(four.decide(now).kind, decision::none);
    four.take(3, names(a, 1), now);
    EXPECT_EQ(four.decide(now).kind, decision::agreed);
}

TEST_F(master_majority_of_sentinels, waits_a_little_for_the_rest_after_a_majority_has_answered) {
    EXPECT_EQ(votes.decide(now).kind, decision::pending);
    votes.take(0, names(a, 3), now);
    EXPECT_EQ(votes.decide(now).kind, decision::pending);
    votes.take(1, names(a, 3), now);
    auto v = votes.decide(now + 99ms);
    EXPECT_EQ(v.kind, decision::pending);
    EXPECT_EQ(v.look_again, now + master_majority::grace);
    now += 100ms;
    expect_agreed(a);
    // A late answer still counts.
    votes.take(2, names(b, 4), now);
    expect_agreed(b);
}

TEST_F(master_majority_of_sentinels, ignores_a_sentinel_that_is_asked_again_until_it_answers) {
    all_answer(names(a, 3), names(a, 3), silent());
    votes.await(1);
    EXPECT_EQ(votes.decide(now).kind, decision::pending);
    votes.take(1, names(b, 4), now);
    expect_agreed(b);
}

TEST_F(master_majority_of_sentinels, reports_a_missing_majority_after_all_have_answered) {
    votes.take(0, silent(), now);
    votes.take(2, silent(), now);
    EXPECT_EQ(votes.decide(now + 1h).kind, decision::pending);
    votes.take(1, names(a, 3), now);
    expect_none(errc::unavailable, "2 of 3 sentinels must name the master \"m\" and 1 does");
}

TEST_F(master_majority_of_sentinels, does_not_return_to_an_earlier_failover_while_a_sentinel_is_silent) {
    all_answer(names(b, 4), names(a, 3), names(a, 3));
    expect_agreed(b);
    all_answer(silent(), names(a, 3), names(a, 3));
    expect_none(errc::unavailable, "do not agree");
    all_answer(silent(), names(b, 3), names(a, 3));
    EXPECT_EQ(votes.decide(now).kind, decision::none);
    // An earlier epoch, but the same server.
    all_answer(silent(), names(b, 3), names(b, 3));
    expect_agreed(b);
    all_answer(silent(), names(a, 3), names(a, 3));
    EXPECT_EQ(votes.decide(now).kind, decision::none) << "the known epoch is not forgotten";
}

TEST_F(master_majority_of_sentinels, follows_sentinels_that_were_set_up_anew_once_all_agree) {
    all_answer(names(b, 4), names(b, 4), names(b, 4));
    expect_agreed(b);
    all_answer(names(a, 0), names(a, 0), names(a, 0));
    expect_agreed(a);
    all_answer(silent(), names(a, 0), names(a, 0));
    expect_agreed(a);
}

TEST_F(master_majority_of_sentinels, takes_most_votes_within_one_epoch_and_no_master_at_a_tie) {
    all_answer(names(a, 0), names(b, 0), names(b, 0));
    expect_agreed(b);
    all_answer(names(a, 0), names(b, 0), names(c, 0));
    expect_none(errc::unavailable, "the sentinels do not agree on the master \"m\": s1:26379 names");
}

TEST_F(master_majority_of_sentinels, distinguishes_a_wrong_name_or_password_from_an_outage) {
    all_answer({answer_is::unknown_name}, {answer_is::unknown_name}, silent());
    expect_none(errc::invalid_argument, "s1:26379 does not know the name");
    const auto noauth = refuses(errc::no_permission, "NOAUTH");
    all_answer(noauth, noauth, silent());
    expect_none(errc::no_permission, "s2:26379 refuses us (NOAUTH)");
    all_answer({answer_is::unknown_name}, silent(), refuses(errc::invalid_argument, "no TLS"));
    expect_none(errc::invalid_argument, "s3:26380 refuses us (no TLS)");
    // The two others may come back and be enough.
    all_answer({answer_is::unknown_name}, silent(), names(a, 1));
    expect_none(errc::unavailable, "is silent");
}

}  // namespace
}  // namespace holdfast::redis
