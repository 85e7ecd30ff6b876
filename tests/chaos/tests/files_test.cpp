// Records survive the death of their writer, and histories are loaded as they were saved.
#include "chaos/history/files.hpp"
#include "chaos/history/recorder.hpp"
#include "chaos/runner/plan.hpp"
#include "support/child_process.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <thread>

namespace holdfast::chaos {
namespace {

event numbered(std::uint64_t n, std::uint32_t thread = 0) {
    event e;
    e.t = boot_time();
    e.hold = n;
    e.thread = thread;
    e.phase = phase::ok;
    return e;
}

TEST(record, is_complete_after_its_writer_is_killed) {
    const test::temp_dir folder;
    const auto file = folder.path() / "1.events";
    auto child = test::child_process::fork_call([&](const test::parent_link& parent) {
        recorder book{file};
        for (std::uint64_t n = 1;; ++n) {
            book.write(numbered(n));
            if (n == 1'000) parent.report("enough");
            if (n == recorder::most_events) return 1;
        }
    });
    ASSERT_TRUE(child.wait_for_output("enough", std::chrono::seconds{20}));
    child.kill();
    const auto events = read_events(file);
    ASSERT_GE(events.size(), 1'000U);
    for (std::size_t i = 0; i < events.size(); ++i) ASSERT_EQ(events[i].hold, i + 1);
}

TEST(record, has_all_events_of_several_threads) {
    const test::temp_dir folder;
    const auto file = folder.path() / "1.events";
    constexpr std::uint64_t each = 2'000;
    {
        recorder book{file};
        std::vector<std::thread> threads;
        for (std::uint32_t t = 0; t < 4; ++t) {
            threads.emplace_back([&, t] {
                for (std::uint64_t n = 0; n < each; ++n) book.write(numbered(n, t));
            });
        }
        for (auto& t : threads) t.join();
    }
    const auto events = merge({read_events(file)});
    ASSERT_EQ(events.size(), 4 * each);
    std::array<std::uint64_t, 4> next{};
    for (const auto& e : events) ASSERT_EQ(e.hold, next.at(e.thread)++);
}

TEST(record, that_was_too_small_is_rejected) {
    const test::temp_dir folder;
    const auto file = folder.path() / "1.events";
    {
        recorder book{file, 10};
        for (std::uint64_t n = 0; n < 11; ++n) book.write(numbered(n));
    }
    EXPECT_THROW((void)read_events(file), std::runtime_error);
}

TEST(history_file, loads_what_was_saved) {
    const test::temp_dir folder;
    const auto file = folder.path() / "all.history";
    history h;
    h.locks = {{"one", model::shared, true, 1},
               {"two", model::counted, false, 7, false, true, true},
               {"three", model::latch}};
    h.faults = {{1, 2, "something", 3}, {4, 5, "else", 0, 1, true}};
    h.calm = {{6, 7}};
    for (std::uint64_t n = 0; n < 100; ++n) h.events.push_back(numbered(n));
    save(h, file);
    const auto again = load(file);
    EXPECT_EQ(again.locks, h.locks);
    EXPECT_EQ(again.faults, h.faults);
    EXPECT_EQ(again.calm, h.calm);
    ASSERT_EQ(again.events.size(), h.events.size());
    for (std::size_t i = 0; i < h.events.size(); ++i) EXPECT_EQ(again.events[i].t, h.events[i].t);

    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
    EXPECT_THROW((void)load(file), std::runtime_error);
    std::ofstream{file} << "something else";
    EXPECT_THROW((void)load(file), std::runtime_error);
}

TEST(schedule, is_the_same_for_the_same_seed) {
    const shape of;
    const auto one = plan(77, 3, of);
    EXPECT_EQ(one, plan(77, 3, of));
    EXPECT_NE(one, plan(78, 3, of));
    EXPECT_NE(one, plan(77, 4, of));
}

TEST(schedule, has_one_fault_at_a_time_per_target_and_all_kinds) {
    shape of;
    of.servers = 2;
    of.wires = 2;
    of.locks = 2;
    std::map<trouble, int> seen;
    for (std::uint64_t round = 0; round < 100; ++round) {
        std::map<std::pair<target_kind, unsigned>, milliseconds> busy_until;
        for (const auto& p : plan(1, round, of)) {
            ++seen[p.what];
            auto& until = busy_until[{kind_of(p.what), p.target}];
            EXPECT_GE(p.from, until);
            EXPECT_GE(p.from, of.peace);
            EXPECT_LE(p.to, of.length);
            until = p.to;
        }
    }
    for (const auto t : all_troubles()) EXPECT_GT(seen[t], 0) << to_string(t);
}

}  // namespace
}  // namespace holdfast::chaos
