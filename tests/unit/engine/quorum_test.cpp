#include "engine/quorum.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using outcome = quorum_attempt::outcome;

TEST(majorities, share_a_member_for_any_number_of_members) {
    for (std::size_t n = 3; n <= 15; ++n) EXPECT_GT(2 * majority_of(n), n) << n;
    EXPECT_EQ(majority_of(5), 3U);
    EXPECT_EQ(majority_of(4), 3U);
}

class quorum_attempt_test : public ::testing::Test {
  protected:
    const time_point sent{1h};
    quorum_attempt_settings how{5, {sent, 10s}, {}, false, sent + 50ms};
    std::optional<quorum_attempt> one{how};
    quorum_attempt::action last;
    member_set undone;
    member_set raised;
    std::vector<outcome> ends;

    void begin() { one.emplace(how); }
    void take(const quorum_attempt::action& a) {
        last = a;
        undone |= a.undo;
        raised |= a.raise;
        if (a.end) ends.push_back(*a.end);
    }
    void vote_of(std::size_t who, vote v, time_point at,
                 quorum_attempt::counts c = quorum_attempt::counts::yes, fence f = fence::none) {
        take(one->on_vote(who, v, c, f, at));
    }
    void grants(std::initializer_list<std::size_t> who) {
        for (const auto i : who) vote_of(i, vote::granted, sent + 1ms);
    }
    void votes(std::initializer_list<std::size_t> who, vote v) {
        for (const auto i : who) vote_of(i, v, sent + 1ms);
    }
    static member_set set_of(std::initializer_list<std::size_t> who) {
        member_set s;
        for (const auto i : who) s.set(i);
        return s;
    }
};

TEST_F(quorum_attempt_test, is_granted_by_the_third_of_five_and_no_earlier) {
    grants({0, 4});
    EXPECT_TRUE(ends.empty());
    grants({2});
    EXPECT_EQ(ends, std::vector{outcome::granted});
    votes({1}, vote::granted);
    votes({3}, vote::silent);
    EXPECT_TRUE(undone.none());
    EXPECT_EQ(ends.size(), 1U);
}

TEST_F(quorum_attempt_test, needs_three_of_four) {
    how.members = 4;
    begin();
    grants({0, 1});
    EXPECT_TRUE(ends.empty());
    votes({2, 3}, vote::busy);
    EXPECT_EQ(ends, std::vector{outcome::busy});
    EXPECT_EQ(undone, set_of({0, 1}));
}

TEST_F(quorum_attempt_test, ignores_the_vote_of_a_member_that_may_have_forgotten) {
    vote_of(0, vote::granted, sent, quorum_attempt::counts::no);
    grants({1, 2});
    EXPECT_TRUE(ends.empty());
    votes({3, 4}, vote::refused);
    EXPECT_EQ(ends, std::vector{outcome::unavailable});
    EXPECT_EQ(undone, set_of({0, 1, 2})) << "its grant is undone as well";
    EXPECT_EQ(one->votes(), set_of({1, 2}));
    EXPECT_EQ(one->uncounted(), set_of({0})) << "the members to blame";
}

TEST_F(quorum_attempt_test, counts_no_member_twice) {
    grants({0, 0, 0, 1});
    EXPECT_TRUE(ends.empty());
}

TEST_F(quorum_attempt_test, stops_once_a_majority_is_impossible_and_undoes_possible_grants) {
    grants({0});
    votes({1}, vote::silent);
    votes({2}, vote::busy);
    EXPECT_TRUE(ends.empty());
    votes({3}, vote::busy);
    EXPECT_EQ(undone, set_of({0, 1, 4})) << "granted, silent, and not answered yet";
    EXPECT_EQ(ends, std::vector{outcome::busy}) << "one granted and two busy: a majority answered";
}

TEST_F(quorum_attempt_test, undoes_a_vote_that_arrives_after_it_was_given_up) {
    votes({0, 1, 2}, vote::busy);
    EXPECT_EQ(undone, set_of({3, 4}));
    undone.reset();
    votes({3}, vote::granted);
    votes({4}, vote::silent);
    EXPECT_EQ(undone, set_of({3, 4}));
    EXPECT_EQ(one->uncertain(), set_of({4}));
    EXPECT_EQ(ends.size(), 1U);
}

TEST_F(quorum_attempt_test, waits_until_busy_can_be_distinguished_from_unavailable) {
    votes({0, 1}, vote::busy);
    votes({2}, vote::refused);
    EXPECT_EQ(undone, set_of({3, 4})) << "a majority is impossible";
    EXPECT_TRUE(ends.empty()) << "the other two may be down or busy";
    votes({3}, vote::busy);
    EXPECT_EQ(ends, std::vector{outcome::busy});
}

TEST_F(quorum_attempt_test, is_unavailable_with_three_members_gone) {
    grants({0, 1});
    votes({2, 3}, vote::refused);
    EXPECT_TRUE(ends.empty());
    votes({4}, vote::silent);
    EXPECT_EQ(ends, std::vector{outcome::unavailable});
    EXPECT_EQ(undone, set_of({0, 1, 4}));
}

TEST_F(quorum_attempt_test, ends_at_its_only_timeout) {
    grants({0, 1});
    take(one->on_elapsed(sent + 49ms));
    EXPECT_TRUE(ends.empty());
    take(one->on_elapsed(sent + 50ms));
    EXPECT_EQ(ends, std::vector{outcome::unavailable});
    EXPECT_EQ(undone, set_of({0, 1, 2, 3, 4}));
    EXPECT_EQ(one->uncertain(), set_of({2, 3, 4}));
}

TEST_F(quorum_attempt_test, is_not_granted_by_a_vote_after_the_timeout) {
    grants({0, 1});
    vote_of(2, vote::granted, sent + 50ms);
    EXPECT_EQ(ends, std::vector{outcome::unavailable});
    EXPECT_EQ(undone, set_of({0, 1, 2, 3, 4}));
}

// Lab 8c: the replies lay in the socket while the process was stopped.
TEST_F(quorum_attempt_test, is_too_late_if_no_time_of_the_lease_is_left) {
    how.give_up_at = sent + 1h;
    begin();
    grants({0, 1});
    vote_of(2, vote::granted, sent + 11s);
    EXPECT_EQ(ends, std::vector{outcome::too_late});
    EXPECT_EQ(undone, set_of({0, 1, 2, 3, 4}));
}

// 10 s less 1 % and 2 ms, from the send and not from any reply.
TEST_F(quorum_attempt_test, may_take_as_long_as_the_lease_less_the_drift) {
    for (const auto& [at, end] :
         {std::pair{9'897ms, outcome::granted}, std::pair{9'898ms, outcome::too_late}}) {
        how.give_up_at = sent + 1h;
        begin();
        ends.clear();
        vote_of(0, vote::granted, sent + 1s);
        vote_of(1, vote::granted, sent + 2s);
        vote_of(2, vote::granted, sent + at);
        EXPECT_EQ(ends, std::vector{end}) << at.count();
    }
}

class fenced_quorum_attempt : public quorum_attempt_test {
  protected:
    fenced_quorum_attempt() {
        how.fenced = true;
        begin();
    }
    void grants_with(std::size_t who, std::uint64_t f) {
        vote_of(who, vote::granted, sent + 1ms, quorum_attempt::counts::yes, static_cast<fence>(f));
    }
    void has_written(std::size_t who, bool done = true) { take(one->on_raised(who, done, sent + 2ms)); }
};

TEST_F(fenced_quorum_attempt, writes_the_highest_fence_to_a_majority_before_it_is_granted) {
    grants_with(0, 16);
    grants_with(3, 800);
    grants_with(1, 32);
    EXPECT_TRUE(ends.empty());
    EXPECT_EQ(raised, set_of({0, 1, 3}));
    EXPECT_EQ(to_number(one->highest()), 800U);
    has_written(0);
    has_written(1);
    EXPECT_TRUE(ends.empty());
    has_written(3);
    EXPECT_EQ(ends, std::vector{outcome::granted});
}

TEST_F(fenced_quorum_attempt, asks_a_member_that_grants_late_to_write_too) {
    grants_with(0, 16);
    grants_with(1, 32);
    grants_with(2, 48);
    grants_with(4, 4'800);
    EXPECT_EQ(raised, set_of({0, 1, 2, 4}));
    EXPECT_EQ(to_number(one->highest()), 48U) << "the fence that others write already";
    has_written(0);
    has_written(4);
    has_written(1, false);
    EXPECT_TRUE(ends.empty());
    has_written(2);
    EXPECT_EQ(ends, std::vector{outcome::granted});
}

TEST_F(fenced_quorum_attempt, is_undone_when_too_few_can_write) {
    grants_with(0, 16);
    grants_with(1, 32);
    grants_with(2, 48);
    votes({3, 4}, vote::busy);
    has_written(0);
    has_written(1, false);
    EXPECT_EQ(ends, std::vector{outcome::unavailable});
    EXPECT_EQ(undone, set_of({0, 1, 2}));
    EXPECT_EQ(one->votes(), set_of({0})) << "member 1 granted but did not write";
}

TEST_F(fenced_quorum_attempt, is_undone_when_writing_takes_too_long) {
    grants_with(0, 16);
    grants_with(1, 32);
    grants_with(2, 48);
    has_written(0);
    take(one->on_elapsed(sent + 50ms));
    EXPECT_EQ(ends, std::vector{outcome::unavailable});
    EXPECT_EQ(undone, set_of({0, 1, 2, 3, 4}));
}

// In any order of events: at most one end, a grant only with a majority in time, and without a grant an undo
// wherever the owner token may be.
TEST(quorum_attempts, keep_their_promises_in_any_order_of_events) {
    std::mt19937 chance{7};
    const auto pick = [&](int n) { return static_cast<int>(chance() % static_cast<unsigned>(n)); };
    for (int run = 0; run < 20'000; ++run) {
        const time_point sent{1h};
        quorum_attempt_settings how{
            static_cast<std::size_t>(3 + pick(5)), {sent, 100ms}, {}, pick(2) == 0, sent + 80ms};
        quorum_attempt one{how};
        auto now = sent;
        member_set answered, ours, counted, tainted, undone, written;
        std::optional<outcome> end;
        const auto carry_out = [&](const quorum_attempt::action& a) {
            undone |= a.undo;
            if (!a.end) return;
            ASSERT_FALSE(end) << "two ends";
            end = a.end;
            if (*end == outcome::granted) {
                ASSERT_GE((how.fenced ? counted & written : counted).count(), majority_of(how.members));
                ASSERT_LT(now, sent + 97ms);
                ASSERT_TRUE(how.fenced || now < how.give_up_at);
            }
        };
        for (int step = 0; step < 25; ++step) {
            now += std::chrono::milliseconds{pick(12)};
            const auto who = static_cast<std::size_t>(pick(static_cast<int>(how.members)));
            if (pick(8) == 0) {
                carry_out(one.on_elapsed(now));
            } else if (answered.test(who)) {
                if (how.fenced && ours.test(who) && !written.test(who)) {
                    written.set(who);
                    carry_out(one.on_raised(who, true, now));
                }
            } else {
                const auto v = static_cast<vote>(pick(4));
                const auto c = pick(4) == 0 ? quorum_attempt::counts::no : quorum_attempt::counts::yes;
                answered.set(who);
                if (v == vote::granted) {
                    ours.set(who);
                    if (c == quorum_attempt::counts::yes) counted.set(who);
                }
                if (v == vote::silent) tainted.set(who);
                undone.reset(who);  // an earlier undo may have arrived before the request
                carry_out(one.on_vote(who, v, c, fence::none, now));
            }
        }
        if (end && *end != outcome::granted) {
            ASSERT_EQ((ours | tainted) & ~undone, member_set{});
        }
    }
}

TEST(tally, distinguishes_yes_no_and_unknown) {
    using answer = tally::answer;
    using verdict = tally::verdict;
    const auto result = [](std::size_t members, std::initializer_list<answer> all) {
        tally t{members};
        for (std::size_t server = 0; const auto a : all) t.add(server++, a);
        return t.result();
    };
    using enum tally::answer;
    EXPECT_EQ(result(5, {yes, yes}), verdict::open);
    EXPECT_EQ(result(5, {yes, yes, yes}), verdict::yes);
    EXPECT_EQ(result(5, {no, no}), verdict::open);
    EXPECT_EQ(result(5, {no, no, no}), verdict::no);
    EXPECT_EQ(result(5, {yes, yes, no, no}), verdict::open);
    EXPECT_EQ(result(5, {yes, yes, no, no, silent}), verdict::unknown);
    EXPECT_EQ(result(5, {silent, silent, silent}), verdict::unknown) << "unknown never becomes no";
    EXPECT_EQ(result(5, {silent, silent, yes, yes}), verdict::open);
    EXPECT_EQ(result(4, {no, no}), verdict::no);
    EXPECT_EQ(result(4, {yes, yes, no}), verdict::open);
}

TEST(tally, takes_the_best_answer_of_a_server_that_is_two_members) {
    using answer = tally::answer;
    using verdict = tally::verdict;
    using enum tally::answer;
    const auto result = [](std::size_t members, std::initializer_list<std::pair<std::size_t, answer>> all) {
        tally t{members};
        for (const auto& [server, a] : all) t.add(server, a);
        return t.result();
    };
    EXPECT_EQ(result(3, {{0, yes}, {0, yes}}), verdict::open) << "one server";
    EXPECT_EQ(result(3, {{0, yes}, {0, yes}, {1, no}}), verdict::no);
    EXPECT_EQ(result(3, {{0, yes}, {0, yes}, {1, silent}}), verdict::unknown);
    for (const auto other : {no, silent}) {
        EXPECT_EQ(result(3, {{0, other}, {0, yes}, {1, yes}}), verdict::yes);
        EXPECT_EQ(result(3, {{0, yes}, {0, other}, {1, yes}}), verdict::yes);
    }
    EXPECT_EQ(result(3, {{0, no}, {1, no}}), verdict::no);
    EXPECT_EQ(result(5, {{0, yes}, {0, yes}, {1, yes}, {2, no}}), verdict::open);
    EXPECT_EQ(result(5, {{0, yes}, {0, yes}, {1, yes}, {2, no}, {3, no}}), verdict::no);
    EXPECT_EQ(result(5, {{0, silent}, {0, no}, {1, yes}, {2, yes}, {3, no}}), verdict::unknown);
}

}  // namespace
}  // namespace holdfast::engine
