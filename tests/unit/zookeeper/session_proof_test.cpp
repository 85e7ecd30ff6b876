// Until when a session lasts for certain, against a leader whose follower goes on answering after it was cut
// off.
#include "zookeeper/session_proof.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds tick = 200ms;
constexpr milliseconds timeout = 4s;

time_point at(milliseconds ms) { return time_point{} + 1h + ms; }

class session_proofs : public ::testing::Test {
  protected:
    session_proofs() { proof.attached(at(0ms), timeout, tick); }
    // A request that is answered at once.
    void read(milliseconds when) { proof.answered(at(when), at(when) + 1ms); }
    void write(milliseconds when) {
        proof.written(at(when));
        read(when);
    }
    // Until when a sync at this time proves the session.
    [[nodiscard]] std::optional<time_point> sync() const {
        const auto s = proof.start_sync();
        return s ? std::optional{proof.proven(*s)} : std::nullopt;
    }
    session_proof proof;
};

TEST_F(session_proofs, need_a_write) {
    read(1000ms);
    read(2000ms);
    EXPECT_FALSE(sync());
}

TEST_F(session_proofs, count_a_new_session_from_its_login) {
    write(10ms);
    EXPECT_EQ(sync(), at(0ms) + timeout);
}

TEST_F(session_proofs, count_from_a_request_that_was_answered_a_tick_before_the_write) {
    read(1000ms);
    write(1200ms);  // the answer came at 1001
    EXPECT_EQ(sync(), at(0ms) + timeout);
    write(1201ms);
    EXPECT_EQ(sync(), at(1000ms) + timeout);
}

TEST_F(session_proofs, are_not_moved_by_reads_alone) {
    write(10ms);
    for (auto when = 20ms; when < 9s; when += 50ms) read(when);
    EXPECT_EQ(sync(), at(0ms) + timeout);
}

TEST_F(session_proofs, of_a_sync_that_was_sent_before_the_answer_of_the_write_do_not_count_it) {
    write(10ms);
    read(1000ms);
    const auto early = proof.start_sync();
    write(2000ms);
    ASSERT_TRUE(early);
    EXPECT_EQ(proof.proven(*early), at(0ms) + timeout);
}

TEST_F(session_proofs, begin_anew_with_each_connection) {
    write(10ms);
    proof.detached();
    EXPECT_FALSE(sync());
    read(100ms);
    write(900ms);
    EXPECT_FALSE(sync()) << "nothing is attached";
    proof.attached(at(1000ms), timeout, tick);
    EXPECT_FALSE(sync());
    write(1010ms);
    EXPECT_EQ(sync(), at(1000ms) + timeout);
}

// The leader pings the follower every half tick, and the follower's answer carries the touches of its
// clients. At some moment the follower is cut off: writes fail from then on, reads are still answered. What
// the client believes never outlasts what the leader knew.
RC_GTEST_PROP(session_proof, never_outlasts_what_the_leader_knows, ()) {
    struct request {
        milliseconds sent;
        bool writes;
    };
    const auto cut = milliseconds{*rc::gen::inRange(300, 4000)};
    const auto ping_phase = milliseconds{*rc::gen::inRange(0, 100)};
    auto times = *rc::gen::container<std::vector<int>>(40, rc::gen::inRange(0, 8000));
    std::sort(times.begin(), times.end());
    session_proof proof;
    proof.attached(at(0ms), timeout, tick);
    std::vector<milliseconds> touched{0ms};  // at the follower
    const auto known_to_leader = [&](milliseconds now) {
        // The last ping that passed reported all touches before it.
        const auto end = std::min(now, cut);
        auto last = ping_phase;
        while (last + tick / 2 <= end) last += tick / 2;
        auto known = 0ms;
        for (const auto t : touched)
            if (t <= last && last <= end) known = std::max(known, t);
        return known;
    };
    for (const auto t : times) {
        const milliseconds sent{t};
        const auto back = sent + 1ms;
        const bool writes = *rc::gen::arbitrary<bool>();
        const bool passes = back < cut;
        if (writes && !passes) break;  // it hangs, and all that follows
        touched.push_back(sent);
        if (writes) proof.written(at(sent));
        proof.answered(at(sent), at(back));
        const auto started = proof.start_sync();
        if (!started || !passes) continue;
        RC_ASSERT(proof.proven(*started) <= at(known_to_leader(back)) + timeout);
    }
}

}  // namespace
}  // namespace holdfast::zookeeper
