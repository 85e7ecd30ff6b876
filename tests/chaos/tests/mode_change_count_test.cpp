// The judge of a run that counts the changes of the mode.
#include "chaos/runner/mode_change_count.hpp"

#include <gtest/gtest.h>

namespace holdfast::chaos {
namespace {

constexpr std::size_t wanted = 2;
constexpr std::uint64_t epoch = 1 + 2 * wanted;  // each change has two steps

event at(time_ns t, phase p, std::uint32_t process = 1) {
    event e;
    e.t = t;
    e.process = process;
    e.action = action::acquire;
    e.phase = p;
    return e;
}

history round_of(std::vector<event> events) {
    history h;
    h.events = std::move(events);
    return h;
}

TEST(mode_change_count, is_content_with_grants_in_each_change) {
    mode_change_count count{wanted};
    const std::vector<span_of_time> changes{{10, 20}, {30, 40}};
    count.add(round_of({at(12, phase::ok)}), std::span{changes}.first(1), 100);
    EXPECT_FALSE(count.is_reached(1));
    count.add(round_of({at(12, phase::ok), at(30, phase::ok), at(39, phase::ok)}), changes, 100);
    EXPECT_TRUE(count.is_reached(2));
    EXPECT_EQ(count.complaints(epoch), std::vector<std::string>{});
    EXPECT_EQ(count.summary(), "2 changes of the mode, 1 to 2 grants in each");
}

TEST(mode_change_count, complains_of_a_change_without_grants) {
    mode_change_count count{wanted};
    count.add(round_of({at(12, phase::ok), at(32, phase::busy), at(40, phase::ok)}),
              std::vector<span_of_time>{{10, 20}, {30, 40}}, 100);
    EXPECT_EQ(count.complaints(epoch), std::vector<std::string>{"nothing was granted in change 2"});
}

TEST(mode_change_count, complains_of_too_few_changes_and_of_others_than_its_own) {
    mode_change_count count{wanted};
    count.add(round_of({at(12, phase::ok)}), std::vector<span_of_time>{{10, 20}}, 100);
    EXPECT_EQ(count.complaints(epoch - 2), (std::vector<std::string>{"the mode was changed 1 times, not 2",
                                                                     "the arbiter is at epoch 3, not 5"}));
}

TEST(mode_change_count, complains_of_a_client_that_got_nothing_for_long) {
    mode_change_count count{wanted};
    count.add(round_of({at(12, phase::ok), at(10, phase::invoke, 2), at(111, phase::busy, 2),
                        at(10, phase::invoke, 3), at(110, phase::busy, 3), at(31, phase::ok)}),
              std::vector<span_of_time>{{10, 20}, {30, 40}}, 100);
    EXPECT_EQ(count.complaints(epoch), std::vector<std::string>{"client 2 was granted nothing in a round"});
}

}  // namespace
}  // namespace holdfast::chaos
