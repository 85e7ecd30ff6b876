// How reports of processes become a record, in virtual time.
#include "lab/play/record.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;

struct lab_record : testing::Test {
    void sends(const std::string& who, instant at, const std::string& text, const std::string& reply) {
        log.note({.at = at, .kind = event_kind::command, .who = who, .text = text, .reply = reply});
    }
    void stops(const std::string& who, instant at, const std::string& where) {
        log.note({.at = at, .kind = event_kind::stop, .who = who, .text = where});
    }

    lab_record() { log.add_place("key"); }

    recorder log{"gold", 300ms};
};

TEST_F(lab_record, simultaneous_beliefs_overlap) {
    log.believes("A", 10ms);
    log.believes("B", 310ms);
    log.believes_no_more("A", 320ms);
    const auto seen = log.finish(400ms);
    EXPECT_EQ(overlaps(seen), (std::vector<overlap>{{"A", "B", 310ms, 320ms}}));
    EXPECT_TRUE(overlapped(seen, "B", "A"));
    EXPECT_FALSE(overlapped(seen, "A", "C"));
}

TEST_F(lab_record, successive_beliefs_do_not_overlap) {
    log.believes("A", 10ms);
    log.believes_no_more("A", 20ms);
    log.believes("B", 20ms);
    EXPECT_TRUE(overlaps(log.finish(30ms)).empty());
}

TEST_F(lab_record, belief_ends_with_the_lease_although_the_holder_wakes_later) {
    log.believes("A", 10ms);
    log.believes("B", 310ms);
    log.believes_no_more("A", 500ms, 305ms);
    const auto seen = log.finish(600ms);
    EXPECT_EQ(seen.beliefs.front(), (span{"A", 10ms, 305ms}));
    EXPECT_TRUE(overlaps(seen).empty());
}

TEST_F(lab_record, longer_lease_does_not_prolong_the_belief) {
    log.believes("A", 10ms);
    log.believes_no_more("A", 50ms, 305ms);
    EXPECT_EQ(log.finish(60ms).beliefs, (std::vector<span>{{"A", 10ms, 50ms}}));
}

TEST_F(lab_record, open_spans_end_with_the_record) {
    log.believes("A", 10ms);
    log.owned_by(0, "A", 11ms);
    const auto seen = log.finish(90ms);
    EXPECT_EQ(seen.beliefs, (std::vector<span>{{"A", 10ms, 90ms}}));
    EXPECT_EQ(seen.places[0].owners, (std::vector<span>{{"A", 11ms, 90ms}}));
}

TEST_F(lab_record, repeated_belief_of_a_process_changes_nothing) {
    log.believes("A", 10ms);
    log.believes("A", 20ms);
    log.believes_no_more("A", 30ms);
    log.believes_no_more("A", 40ms);
    EXPECT_EQ(log.finish(50ms).beliefs, (std::vector<span>{{"A", 10ms, 30ms}}));
}

TEST_F(lab_record, key_passes_from_owner_to_owner) {
    log.owned_by(0, "A", 10ms);
    log.owned_by(0, "A", 20ms);
    log.owned_by(0, "", 310ms);
    log.owned_by(0, "B", 320ms);
    EXPECT_EQ(log.owner(), "B");
    EXPECT_EQ(log.finish(400ms).places[0].owners,
              (std::vector<span>{{"A", 10ms, 310ms}, {"B", 320ms, 400ms}}));
}

TEST_F(lab_record, owner_has_more_than_half_of_the_places) {
    log.add_place("node 2");
    log.add_place("node 3");
    log.owned_by(0, "A", 10ms);
    EXPECT_EQ(log.owner(), "");
    log.owned_by(1, "B", 20ms);
    EXPECT_EQ(log.owner(), "");
    log.owned_by(2, "B", 30ms);
    EXPECT_EQ(log.owner(), "B");
    EXPECT_EQ(log.owner_at(0), "A");
}

TEST_F(lab_record, wait_ends_with_the_lock_or_with_the_process) {
    log.waits("A", 10ms);
    log.waits("A", 20ms);
    log.believes("A", 30ms);
    log.waits("B", 15ms);
    log.dies("B", 35ms);
    EXPECT_EQ(log.finish(40ms).waits, (std::vector<span>{{"A", 10ms, 30ms}, {"B", 15ms, 35ms}}));
}

TEST_F(lab_record, open_stall_lasts_to_the_end) {
    log.stands_still("A", 10ms);
    log.moves_again("A", 20ms);
    log.moves_again("B", 25ms);
    log.stands_still("B", 30ms);
    EXPECT_EQ(log.finish(40ms).stills, (std::vector<span>{{"A", 10ms, 20ms}, {"B", 30ms, 40ms}}));
}

TEST_F(lab_record, reports_are_sorted_by_time) {
    sends("B", 20ms, "GET lock", "A");
    sends("A", 10ms, "SET lock A", "OK");
    const auto seen = log.finish(30ms);
    ASSERT_EQ(seen.events.size(), 2U);
    EXPECT_EQ(seen.events[0].who, "A");
}

TEST_F(lab_record, repeated_attempts_are_one_event) {
    for (const auto at : {1ms, 2ms, 3ms}) {
        sends("B", at, "SETNX lock 123", "0");
        stops("B", at, "before_retry");
    }
    sends("B", 4ms, "SETNX lock 123", "1");
    const auto seen = log.finish(5ms);
    ASSERT_EQ(seen.events.size(), 3U);
    EXPECT_EQ(seen.events[0].times, 3);
    EXPECT_EQ(seen.events[1].kind, event_kind::stop);
    EXPECT_EQ(seen.events[2].reply, "1");
}

}  // namespace
}  // namespace holdfast::lab
