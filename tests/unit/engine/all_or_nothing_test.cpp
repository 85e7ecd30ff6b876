#include "engine/all_or_nothing.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

class acquiring_three : public ::testing::Test {
  protected:
    const time_point start{1h};
    time_point now = start;

    void begin(std::optional<time_point> give_up_at) {
        machine.emplace(all_settings{3, give_up_at, 10s});
        last = machine->begin();
    }
    [[nodiscard]] std::optional<std::size_t> asked() const {
        const auto* const next = std::get_if<acquire_member>(&last);
        return next != nullptr ? std::optional{next->which} : std::nullopt;
    }
    // Empty: a single try.
    [[nodiscard]] std::optional<time_point> until() const {
        return std::get<acquire_member>(last).give_up_at;
    }
    void held(bool sound = true) { last = machine->on_held(sound); }
    void busy() { last = machine->on_busy(now); }
    void time_is_up() {
        now = *until();
        busy();
    }
    void all_released() {
        ASSERT_TRUE(std::holds_alternative<release_all_held>(last));
        last = machine->on_all_released();
    }
    [[nodiscard]] bool holds_all() const { return std::holds_alternative<hold_all>(last); }
    [[nodiscard]] end_without end() const { return std::get<end_without>(last); }

    std::optional<all_or_nothing> machine;
    all_action last;
};

TEST_F(acquiring_three, asks_for_one_after_the_other) {
    begin(std::nullopt);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(asked(), i);
        EXPECT_FALSE(until());
        held();
    }
    EXPECT_TRUE(holds_all());
}

TEST_F(acquiring_three, a_try_ends_at_the_first_busy_lock) {
    begin(std::nullopt);
    held();
    busy();
    all_released();
    EXPECT_EQ(end().why, end_without::reason::busy);
    EXPECT_EQ(end().which, 1U);
}

TEST_F(acquiring_three, waits_until_the_deadline_while_it_holds_none) {
    begin(start + 1h);
    EXPECT_EQ(until(), start + 1h);
    time_is_up();
    all_released();
    EXPECT_EQ(end().why, end_without::reason::busy);
}

TEST_F(acquiring_three, tries_the_next_before_it_waits_while_it_holds_one) {
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

TEST_F(acquiring_three, does_not_hold_one_for_ever_while_it_waits_for_the_next) {
    begin(start + 1h);
    held();
    busy();
    EXPECT_EQ(until(), start + 10s);
    time_is_up();
    all_released();
    EXPECT_EQ(asked(), 0U) << "from the beginning";
    EXPECT_EQ(until(), start + 1h);
}

TEST_F(acquiring_three, gives_up_at_its_deadline) {
    begin(start + 5s);
    held();
    busy();
    time_is_up();
    all_released();
    EXPECT_EQ(end().why, end_without::reason::busy);
}

TEST_F(acquiring_three, begins_again_if_it_lost_a_lease_during_a_wait) {
    begin(start + 1h);
    held();
    busy();
    held(false);
    all_released();
    EXPECT_EQ(asked(), 0U);
    held();
    held();
    held();
    EXPECT_TRUE(holds_all());
}

TEST_F(acquiring_three, a_lease_too_short_even_without_a_wait_is_an_error) {
    begin(start + 1h);
    held();
    held();
    held(false);
    all_released();
    EXPECT_EQ(end().why, end_without::reason::too_short);
    EXPECT_EQ(end().which, 2U);
}

TEST_F(acquiring_three, ends_at_the_first_failure) {
    begin(start + 1h);
    held();
    last = machine->on_failed();
    all_released();
    EXPECT_EQ(end().why, end_without::reason::failed);
    EXPECT_EQ(end().which, 1U);
}

}  // namespace
}  // namespace holdfast::engine
