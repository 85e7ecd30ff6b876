// A history as a whole: fences, writes to the resource, and the report.
#include "chaos/tests/attempts.hpp"
#include "chaos/tests/random_history.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <vector>

namespace holdfast::chaos {
namespace {

TEST(lock_without_replicas, is_judged_by_its_fences_alone) {
    history h;
    h.locks = {{"it", model::exclusive, false, 1, false, true}};
    h.events = events_of({holding(1, 10, 50), holding(2, 30, 60, 2)});
    EXPECT_TRUE(judge(h).empty());
    EXPECT_EQ(count_unpromised(h), 1U);
    h.locks[0].fenced = true;
    EXPECT_FALSE(judge(h).empty());
}

TEST(resource_write, of_an_earlier_holder_after_a_later_one_is_late) {
    const std::vector<attempt> holds{holding(1, 10, 50), holding(2, 60, 90, 2)};
    const auto write = [](std::uint64_t hold, time_ns from, time_ns to, phase end) {
        event e;
        e.action = action::write;
        e.hold = hold;
        e.t = from;
        e.phase = phase::invoke;
        auto done = e;
        done.t = to;
        done.phase = end;
        return std::vector{e, done};
    };
    auto events = write(2, 70, 71, phase::ok);
    const auto late = write(1, 80, 81, phase::ok);
    events.insert(events.end(), late.begin(), late.end());
    EXPECT_EQ(rules(check_writes(holds, events)), rule_names{"late_write"});
    events.back().phase = phase::fail;  // refused, as it should be
    EXPECT_TRUE(check_writes(holds, events).empty());
}

TEST(fences, must_exist_and_exceed_those_of_earlier_rounds) {
    auto one = holding(1, 10, 50);
    EXPECT_EQ(rules(check_fences(std::vector{one})), (rule_names{"fence", "fence"}));
    one.fence = 5;
    EXPECT_TRUE(check_fences(std::vector{one}, 4).empty());
    EXPECT_EQ(rules(check_fences(std::vector{one}, 5)), rule_names{"fence"});
}

TEST(report, shows_the_holds_the_faults_and_the_times) {
    history h;
    h.locks = {{"stock"}};
    h.events = events_of({holding(1, 10'000'000, 50'000'000), holding(2, 20'000'000, 60'000'000, 2)});
    h.faults = {{15'000'000, 16'000'000, "client 1: client is stopped", 0}};
    const auto found = judge(h);
    ASSERT_EQ(rules(found), rule_names{"two_holders"});
    const auto text = report(found.front(), h);
    EXPECT_NE(text.find("two_holders of lock stock"), text.npos) << text;
    EXPECT_NE(text.find("p1.t0"), text.npos) << text;
    EXPECT_NE(text.find("p2.t0"), text.npos) << text;
    EXPECT_NE(text.find("client is stopped"), text.npos) << text;
    EXPECT_NE(text.find("+10.000 ms"), text.npos) << text;
}

TEST(judge, reads_a_million_events_in_about_a_second) {
    constexpr std::uint64_t holds = 250'000;
    history h;
    h.locks = {{"exclusive", model::exclusive, true},
               {"reentrant", model::reentrant},
               {"shared", model::shared},
               {"counted", model::counted, false, 3}};
    std::vector<attempt> all;
    for (std::uint64_t id = 1; id <= holds; ++id) {
        auto a = holding(id, static_cast<time_ns>(id * 100), static_cast<time_ns>(id * 100 + 50),
                         static_cast<std::uint32_t>(id % 16));
        a.fence = id;
        all.push_back(a);
    }
    h.events = events_of(all);
    for (auto& e : h.events) {
        e.lock = static_cast<std::uint16_t>(e.hold % h.locks.size());
        if (e.lock == 2) e.side = side::writer;
    }
    const auto begun = std::chrono::steady_clock::now();
    const auto found = judge(h);
    const auto took = std::chrono::steady_clock::now() - begun;
    EXPECT_TRUE(found.empty());
    std::cout << h.events.size() << " events judged in "
              << std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " ms\n";
}

}  // namespace
}  // namespace holdfast::chaos
