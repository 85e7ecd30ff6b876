// Records drawn as lanes, in virtual time.
#include "lab/timeline.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;

// '=': alone, 'X': beside another.
std::string shown(const lane& of) {
    std::string out;
    for (std::size_t i = 0; i < of.cells.size(); ++i) {
        switch (of.cells[i]) {
            case cell::nothing: out += '.'; break;
            case cell::alone: out += of.owner.empty() ? "=" : of.owner[i]; break;
            case cell::beside: out += 'X'; break;
        }
    }
    return out;
}

// Two steps; the second takes a hundred times as long as the first.
struct lab_timeline : testing::Test {
    lab_timeline() {
        seen.events = {{.at = 0ms, .kind = event_kind::step, .text = "A takes it"},
                       {.at = 1ms, .kind = event_kind::stop, .who = "A", .text = "in_cs"},
                       {.at = 10ms, .kind = event_kind::step, .text = "time passes"},
                       {.at = 900ms, .kind = event_kind::stop, .who = "B", .text = "in_cs"}};
        seen.end = 1010ms;
    }
    record seen;
};

TEST_F(lab_timeline, every_step_is_as_wide_as_the_others) {
    seen.beliefs = {{"A", 5ms, 510ms}};
    const auto lanes = drawn(seen, 10);
    ASSERT_EQ(lanes.columns.size(), 2U);
    EXPECT_EQ(lanes.columns[1].text, "time passes");
    EXPECT_EQ(shown(lanes.beliefs.at(0)), ".....==========.....");
}

TEST_F(lab_timeline, everybody_has_a_lane_in_the_order_of_names) {
    const auto lanes = drawn(seen, 4);
    ASSERT_EQ(lanes.beliefs.size(), 2U);
    EXPECT_EQ(lanes.beliefs[0].who, "A");
    EXPECT_EQ(shown(lanes.beliefs[1]), "........");
}

TEST_F(lab_timeline, overlap_shows_in_both_lanes) {
    seen.beliefs = {{"A", 0ms, 710ms}, {"B", 510ms, 1010ms}};
    const auto lanes = drawn(seen, 10);
    EXPECT_EQ(shown(lanes.beliefs[0]), "===============XX...");
    EXPECT_EQ(shown(lanes.beliefs[1]), "...............XX===");
}

TEST_F(lab_timeline, the_shortest_span_has_a_cell) {
    seen.beliefs = {{"A", 500ms, 500ms + 1ns}, {"B", 1010ms, 1010ms}};
    const auto lanes = drawn(seen, 5);
    EXPECT_EQ(shown(lanes.beliefs[0]), ".......=..");
    EXPECT_EQ(shown(lanes.beliefs[1]), ".........=");
}

TEST_F(lab_timeline, lane_of_the_key_names_its_owner) {
    seen.owners = {{"A", 0ms, 510ms}, {"B", 760ms, 1010ms}};
    EXPECT_EQ(shown(drawn(seen, 4).key), "AAAAAA.B");
}

TEST_F(lab_timeline, a_record_without_steps_is_one_column) {
    const record empty;
    const auto lanes = drawn(empty, 6);
    EXPECT_EQ(lanes.columns.size(), 1U);
    EXPECT_EQ(shown(lanes.key), "......");
}

}  // namespace
}  // namespace holdfast::lab
