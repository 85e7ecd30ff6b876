#include "backends/joint/mode.hpp"

#include "store/linearizable_register.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::joint_backend {
namespace {

using namespace std::chrono_literals;

mode_record sample() {
    auto r = first_mode("mode_lease=20s level=a level=b");
    r = changed(r, {0, 1}, 1'764'000'000'000,
                {.by = "li", .host = "h1", .reason = "redis upgrade", .pid = 7});
    return changed(r, {1}, 1'764'000'030'000,
                   {.by = "li", .host = "h1", .reason = "redis upgrade", .pid = 7});
}

TEST(mode, text_of_a_record_is_read_back) {
    const auto text = to_text(sample());
    const auto r = parse(text, 2);
    ASSERT_TRUE(r);
    EXPECT_EQ(to_text(*r), text);
    EXPECT_EQ(r->epoch, 3U);
    EXPECT_EQ(r->needed, (needed_levels{1}));
    EXPECT_EQ(r->agreed, "mode_lease=20s level=a level=b");
    ASSERT_EQ(r->history.size(), 2U);
    EXPECT_EQ(r->history[0].needed, (needed_levels{0, 1}));
    EXPECT_EQ(r->history[1].author.reason, "redis upgrade");
    EXPECT_EQ(r->history[1].author.pid, 7);
}

// The order says which level the mode before has used: it is taken first.
TEST(mode, order_of_two_levels_is_kept) {
    const auto r = parse(to_text(changed(sample(), {1, 0}, 0, {})), 2);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->needed, (needed_levels{1, 0}));
}

TEST(mode, what_is_no_record_is_refused) {
    const auto good = to_text(sample());
    const auto with = [&](const std::string& what, const std::string& other) {
        auto text = good;
        return text.replace(text.find(what), what.size(), other);
    };
    ASSERT_TRUE(parse(good, 2));
    EXPECT_FALSE(parse("", 2));
    EXPECT_FALSE(parse("something else", 2));
    EXPECT_FALSE(parse(with("holdfast mode 1", "holdfast mode 2"), 2)) << "of a newer version";
    EXPECT_FALSE(parse(with("epoch 3", "epoch"), 2));
    EXPECT_FALSE(parse(with("epoch 3", "epoch -3"), 2));
    EXPECT_FALSE(parse(with("needs 2", "needs 0"), 2));
    EXPECT_FALSE(parse(with("needs 2", "needs 3"), 2)) << "this client has no such level";
    EXPECT_FALSE(parse(with("needs 2", "needs 1+3"), 3)) << "no neighbours";
    EXPECT_FALSE(parse(with("needs 2", "needs 1+2+3"), 3));
    EXPECT_FALSE(parse(with("needs 2", "needs"), 2));
    EXPECT_FALSE(parse(with("change\t", "chance\t"), 2));
}

TEST(mode, long_and_odd_texts_fit) {
    auto r = first_mode("agreed");
    const std::string odd = std::string(400, 'x') + "\t\n\x01\xff";
    for (int i = 0; i < 100; ++i)
        r = changed(r, i % 2 == 0 ? needed_levels{0, 1} : needed_levels{1}, i, {odd, odd, odd, 1});
    const auto text = to_text(r);
    EXPECT_LE(text.size(), backend::linearizable_register::longest_text);
    const auto back = parse(text, 2);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->epoch, 101U);
    EXPECT_LE(back->history.size(), 20U);
    EXPECT_EQ(back->history.back().epoch, 101U) << "the latest are kept";
}

TEST(mode, two_levels_are_settled_until_the_next_change) {
    auto r = changed(automated(first_mode("agreed"), true, 0, {}), {0, 1}, 1, {}, changed_by::majority);
    r = settled(std::move(r), 2, {.by = "li"});
    EXPECT_FALSE(r.is_automatic()) << "it would not stay";
    const auto back = parse(to_text(r), 2);
    ASSERT_TRUE(back);
    EXPECT_TRUE(back->settled);
    EXPECT_EQ(to_text(*back), to_text(r));
    EXPECT_FALSE(changed(*back, {1}, 3, {}).settled);
    auto text = to_text(r);
    text.replace(text.find("needs 1+2"), 9, "needs 1");
    EXPECT_FALSE(parse(text, 2)) << "one level needs no time";
    EXPECT_EQ(with_neighbour(0, 3), (needed_levels{0, 1}));
    EXPECT_EQ(with_neighbour(2, 3), (needed_levels{2, 1}));
}

// {0} <-> {0,1} <-> {1} <-> {1,2} <-> {2}
TEST(mode, changes_one_neighbour_at_a_time) {
    for (std::size_t from = 0; from < 4; ++from)
        for (std::size_t goal = 0; goal < 4; ++goal) {
            needed_levels now{from};
            int steps = 0;
            while (const auto next = next_step(now, goal)) {
                EXPECT_TRUE(std::ranges::any_of(*next, [&](auto i) {
                    return std::ranges::find(now, i) != now.end();
                })) << "two modes in a row share a level";
                EXPECT_NE(now.size(), next->size());
                EXPECT_TRUE(next->size() == 1 || next->front() == now.front())
                    << "the level used before is first";
                now = *next;
                ASSERT_LT(++steps, 10);
            }
            EXPECT_EQ(now, needed_levels{goal});
        }
    EXPECT_EQ(next_step({0, 1}, 0), needed_levels{0}) << "back again";
}

// A client that used the mode before may use it for a mode lease by its own clock, which may be slow, and the
// one that waits may have a fast clock.
TEST(mode, mode_with_two_levels_outlasts_the_use_of_the_mode_before) {
    const engine::clock_margin margin{0.01, 2ms};
    const auto lasts = shortest_joint_mode(20s, 1s, margin);
    const auto used_for = std::chrono::duration<double>{20s} * 1.01;  // by a slow clock
    EXPECT_GE(std::chrono::duration<double>{lasts - 1s} / 1.01, used_for - 10ms);
    EXPECT_EQ(shortest_joint_mode(20s, 1s, margin) - shortest_joint_mode(20s, 0s, margin), 1s);
}

}  // namespace
}  // namespace holdfast::joint_backend
