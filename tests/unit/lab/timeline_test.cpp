// Records drawn as lanes, in virtual time.
#include "lab/play/timeline.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;

// '=': alone, 'X': contested, a letter: the owner.
std::string shown(const lane& of, std::size_t units) {
    std::string out(units, '.');
    for (const auto& one : of.stretches) {
        for (auto i = one.from; i < one.to; ++i) {
            EXPECT_EQ(out[i], '.') << "two stretches in one unit";
            out[i] = one.contested ? 'X' : '=';
        }
    }
    return out;
}

std::string owners(const lane& of, std::size_t units) {
    std::string out(units, '.');
    for (const auto& one : of.stretches) {
        for (auto i = one.from; i < one.to; ++i) out[i] = one.who.front();
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
    std::string belief(std::size_t number) {
        const auto lanes = drawn(seen);
        return shown(lanes.beliefs.at(number), lanes.units);
    }
    record seen;
};

TEST_F(lab_timeline, axis_counts_changes_and_not_time) {
    seen.beliefs = {{"A", 5ms, 510ms}};
    const auto lanes = drawn(seen);
    EXPECT_EQ(lanes.units, 4U);
    EXPECT_EQ(shown(lanes.beliefs.at(0), lanes.units), ".==.");
    seen.beliefs = {{"A", 9ms, 1009ms}};
    EXPECT_EQ(belief(0), ".==.");
}

TEST_F(lab_timeline, columns_are_the_steps) {
    seen.beliefs = {{"A", 5ms, 510ms}};
    const auto lanes = drawn(seen);
    ASSERT_EQ(lanes.columns.size(), 2U);
    EXPECT_EQ(lanes.columns[1].text, "time passes");
    EXPECT_EQ(lanes.columns[1].first, 2U);
    EXPECT_EQ(lanes.columns[1].units, 2U);
}

TEST_F(lab_timeline, each_process_has_a_lane_sorted_by_name) {
    const auto lanes = drawn(seen);
    ASSERT_EQ(lanes.beliefs.size(), 2U);
    EXPECT_EQ(lanes.beliefs[0].name, "A");
    EXPECT_EQ(shown(lanes.beliefs[1], lanes.units), "..");
}

TEST_F(lab_timeline, overlap_shows_in_both_lanes) {
    seen.beliefs = {{"A", 0ms, 710ms}, {"B", 510ms, 1010ms}};
    EXPECT_EQ(belief(0), "==X.");
    EXPECT_EQ(belief(1), "..X=");
}

TEST_F(lab_timeline, a_belief_may_overlap_with_two_others_at_once) {
    seen.beliefs = {{"A", 0ms, 900ms}, {"B", 100ms, 500ms}, {"C", 300ms, 700ms}};
    seen.events.push_back({.at = 950ms, .kind = event_kind::says, .who = "C", .text = "there"});
    EXPECT_EQ(belief(0), "==XXX=.");
    EXPECT_EQ(belief(1), "..XX...");
    EXPECT_EQ(belief(2), "...XX..");
}

TEST_F(lab_timeline, lanes_of_places_name_the_owner) {
    seen.places = {{"key", {{"A", 0ms, 510ms}, {"B", 760ms, 1010ms}}}};
    const auto lanes = drawn(seen);
    EXPECT_EQ(lanes.places.at(0).name, "key");
    EXPECT_EQ(owners(lanes.places[0], lanes.units), "AA.B");
}

TEST_F(lab_timeline, successive_losses_of_places_are_drawn_together) {
    seen.places = {{"node 1", {{"A", 0ms, 512ms}}}, {"node 2", {{"A", 0ms, 510ms}}}};
    const auto lanes = drawn(seen);
    EXPECT_EQ(owners(lanes.places[0], lanes.units), "AA.");
    EXPECT_EQ(owners(lanes.places[1], lanes.units), "AA.");
}

TEST_F(lab_timeline, losses_of_places_are_drawn_apart_if_a_belief_begins_between) {
    seen.places = {{"node 1", {{"A", 0ms, 512ms}}}, {"node 2", {{"A", 0ms, 510ms}}}};
    seen.beliefs = {{"B", 511ms, 700ms}};
    const auto lanes = drawn(seen);
    EXPECT_EQ(owners(lanes.places[0], lanes.units), "AAAA..");
    EXPECT_EQ(owners(lanes.places[1], lanes.units), "AA....");
}

TEST_F(lab_timeline, stall_is_drawn_with_the_belief) {
    seen.beliefs = {{"A", 5ms, 1010ms}};
    seen.stills = {{"A", 20ms, 500ms}};
    const auto lanes = drawn(seen);
    EXPECT_EQ(shown(lanes.beliefs.at(0), lanes.units), ".====");
    ASSERT_EQ(lanes.beliefs[0].stills.size(), 1U);
    EXPECT_EQ(lanes.beliefs[0].stills[0].from, 3U);
    EXPECT_EQ(lanes.beliefs[0].stills[0].to, 4U);
}

TEST_F(lab_timeline, a_record_without_steps_is_one_column) {
    const auto lanes = drawn(record{});
    EXPECT_EQ(lanes.columns.size(), 1U);
    EXPECT_EQ(lanes.units, 1U);
}

}  // namespace
}  // namespace holdfast::lab
