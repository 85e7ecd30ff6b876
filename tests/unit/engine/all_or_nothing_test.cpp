#include "engine/all_or_nothing.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

class taking_three : public ::testing::Test {
  protected:
    const time_point start{1h};
    time_point now = start;

    void begin(std::optional<time_point> give_up_at) {
        machine.emplace(all_settings{3, give_up_at, 10s});
        last = machine->begin();
    }
    [[nodiscard]] std::optional<std::size_t> asked() const {
        const auto* const ask = std::get_if<ask_member>(&last);
        return ask != nullptr ? std::optional{ask->which} : std::nullopt;
    }
    // Empty: asked once.
    [[nodiscard]] std::optional<time_point> until() const { return std::get<ask_member>(last).give_up_at; }
    void held(bool sound = true) { last = machine->on_held(sound); }
    void busy() { last = machine->on_busy(now); }
    void time_is_up() {
        now = *until();
        busy();
    }
    void given_back() {
        ASSERT_TRUE(std::holds_alternative<give_all_back>(last));
        last = machine->on_given_back();
    }
    [[nodiscard]] bool holds_all() const { return std::holds_alternative<hold_all>(last); }
    [[nodiscard]] end_without end() const { return std::get<end_without>(last); }

    std::optional<all_or_nothing> machine;
    all_action last;
};

TEST_F(taking_three, asks_one_after_the_other) {
    begin(std::nullopt);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(asked(), i);
        EXPECT_FALSE(until());
        held();
    }
    EXPECT_TRUE(holds_all());
}

TEST_F(taking_three, a_try_ends_at_the_first_that_is_busy) {
    begin(std::nullopt);
    held();
    busy();
    given_back();
    EXPECT_EQ(end().why, end_without::reason::busy);
    EXPECT_EQ(end().which, 1U);
}

TEST_F(taking_three, with_nothing_in_hand_it_waits_to_the_end) {
    begin(start + 1h);
    EXPECT_EQ(until(), start + 1h);
    time_is_up();
    given_back();
    EXPECT_EQ(end().why, end_without::reason::busy);
}

TEST_F(taking_three, with_one_in_hand_it_asks_before_it_waits) {
    begin(start + 5s);
    held();
    EXPECT_FALSE(until());
    busy();
    EXPECT_EQ(asked(), 1U);
    EXPECT_EQ(until(), start + 5s);
    held();
    EXPECT_EQ(asked(), 2U);
    EXPECT_FALSE(until());
    held();
    EXPECT_TRUE(holds_all());
}

TEST_F(taking_three, does_not_hold_one_for_ever_while_it_waits_for_the_next) {
    begin(start + 1h);
    held();
    busy();
    EXPECT_EQ(until(), start + 10s);
    time_is_up();
    given_back();
    EXPECT_EQ(asked(), 0U) << "from the beginning";
    EXPECT_EQ(until(), start + 1h);
}

TEST_F(taking_three, gives_up_when_its_time_is_up) {
    begin(start + 5s);
    held();
    busy();
    time_is_up();
    given_back();
    EXPECT_EQ(end().why, end_without::reason::busy);
}

TEST_F(taking_three, begins_again_when_a_wait_has_cost_it_one) {
    begin(start + 1h);
    held();
    busy();
    held(false);
    given_back();
    EXPECT_EQ(asked(), 0U);
    held();
    held();
    held();
    EXPECT_TRUE(holds_all());
}

TEST_F(taking_three, a_lease_that_is_too_short_without_a_wait_is_an_error) {
    begin(start + 1h);
    held();
    held();
    held(false);
    given_back();
    EXPECT_EQ(end().why, end_without::reason::too_short);
    EXPECT_EQ(end().which, 2U);
}

TEST_F(taking_three, a_failure_ends_it) {
    begin(start + 1h);
    held();
    last = machine->on_failed();
    given_back();
    EXPECT_EQ(end().why, end_without::reason::failed);
    EXPECT_EQ(end().which, 1U);
}

}  // namespace
}  // namespace holdfast::engine
