// One record, and how requests change it.
#include "engine/lock_record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

namespace holdfast::engine {
namespace {

using namespace backend;
using namespace std::chrono_literals;

class lock_record_test : public ::testing::Test {
  protected:
    [[nodiscard]] circumstances here() {
        return {now, ++tickets, static_cast<fence>(fences += 16), {}, remembers};
    }
    [[nodiscard]] static lock_key key(kind k) { return {k, "job"}; }

    applied<attempt_answer> attempt(kind k, const char* owner, std::uint32_t permits = 1,
                                    intent want = intent::queue) {
        return apply(record, attempt_request{key(k), owner_id{owner}, 10s, want, permits}, here());
    }
    applied<release_answer> release(kind k, const char* owner) {
        return apply(record, release_request{key(k), owner_id{owner}}, here());
    }
    std::int64_t adjust(kind k, adjustment what, std::int64_t amount, const char* operation,
                        const char* owner = "") {
        const auto a =
            apply(record, adjust_request{key(k), what, amount, owner_id{operation}, owner_id{owner}}, here());
        return std::get<adjusted>(a.answer).value;
    }
    template <class Answer, class Alternatives>
    static bool is(const applied<Alternatives>& a) {
        return std::holds_alternative<Answer>(a.answer);
    }

    lock_record record;
    store_time now{1h};
    std::uint64_t tickets = 0;
    std::uint64_t fences = 0;
    milliseconds remembers{0};
};

TEST_F(lock_record_test, is_free_again_when_the_lease_is_over) {
    EXPECT_TRUE(is<granted>(attempt(kind::recursive, "a")));
    now += 10s - 1ns;
    EXPECT_TRUE(is<busy>(attempt(kind::recursive, "b")));
    now += 1ns;
    EXPECT_TRUE(is<granted>(attempt(kind::recursive, "b")));
    EXPECT_TRUE(is<not_held>(apply(record, renew_request{key(kind::recursive), owner_id{"a"}, 10s}, here())));
}

// Another store of the same lock has given a higher fence.
TEST_F(lock_record_test, raises_its_fence_for_the_holder_only) {
    (void)attempt(kind::native_fenced, "a");
    const auto given = record.last_fence;
    const auto higher = static_cast<std::int64_t>(given) + 1'000;
    EXPECT_EQ(adjust(kind::native_fenced, adjustment::raise_fence, higher, "", "b"), 0);
    EXPECT_EQ(record.last_fence, given);
    EXPECT_EQ(adjust(kind::native_fenced, adjustment::raise_fence, higher, "", "a"), 1);
    EXPECT_EQ(record.last_fence, static_cast<std::uint64_t>(higher));
    EXPECT_EQ(adjust(kind::native_fenced, adjustment::raise_fence, 1, "", "a"), 1);
    EXPECT_EQ(record.last_fence, static_cast<std::uint64_t>(higher)) << "never lower";
}

TEST_F(lock_record_test, says_when_it_will_be_free) {
    (void)attempt(kind::recursive, "a");
    now += 4s;
    const auto answer = attempt(kind::recursive, "b").answer;
    const auto& no = std::get<busy>(answer);
    EXPECT_EQ(no.holder, "a");
    EXPECT_EQ(no.look_again, 6001ms);
}

TEST_F(lock_record_test, is_not_changed_by_a_refused_attempt) {
    (void)attempt(kind::shared_write, "a");
    const auto before = record;
    EXPECT_TRUE(is<busy>(attempt(kind::shared_read, "b")));
    EXPECT_TRUE(is<refused>(attempt(kind::semaphore, "b")));
    EXPECT_EQ(record, before);
}

TEST_F(lock_record_test, is_handed_off_to_the_first_waiter_that_messages_reach) {
    (void)attempt(kind::native, "a");
    (void)attempt(kind::native, "deaf");
    const auto no = attempt(kind::native, "b").answer;
    (void)attempt(kind::native, "c");
    auto where = here();
    where.reaches = [](kind, const owner_id& o) { return o.str() != "deaf"; };
    const auto done = apply(record, release_request{key(kind::native), owner_id{"a"}}, where);
    EXPECT_TRUE(std::get<released>(done.answer).handed_over);
    ASSERT_EQ(done.notify.handed.size(), 1U);
    EXPECT_EQ(done.notify.handed[0].owner.str(), "b");
    EXPECT_EQ(done.notify.handed[0].ticket, std::get<busy>(no).ticket);
    ASSERT_EQ(record.holders.size(), 1U);
    EXPECT_EQ(record.holders[0].expires, now + handed_lease);
    EXPECT_EQ(record.queue.size(), 1U);
}

// No message reaches it, so it asks again and again, and would find the lock taken by others each time.
TEST_F(lock_record_test, is_kept_for_a_waiter_that_polls_when_its_turn_comes) {
    const auto polling = [&](const char* owner) {
        auto where = here();
        where.polls = true;
        return apply(record, attempt_request{key(kind::native), owner_id{owner}, 10s, intent::queue}, where);
    };
    const auto leave = [&](const char* owner) {
        auto where = here();
        where.reaches = [](kind, const owner_id& o) { return o.str() != "deaf"; };
        return apply(record, release_request{key(kind::native), owner_id{owner}}, where);
    };
    (void)attempt(kind::native, "a");
    const auto no = polling("deaf").answer;
    EXPECT_EQ(std::get<busy>(no).ticket, "") << "a message proves nothing to it";
    EXPECT_LE(std::get<busy>(no).look_again, polls_within / 2);
    (void)attempt(kind::native, "b");
    const auto passed = leave("a");
    EXPECT_TRUE(std::get<released>(passed.answer).handed_over);
    EXPECT_TRUE(passed.notify.handed.empty());
    EXPECT_TRUE(is<busy>(attempt(kind::native, "c")));
    EXPECT_TRUE(is<granted>(polling("deaf")));
    EXPECT_EQ(leave("deaf").notify.handed.at(0).owner.str(), "b");

    EXPECT_EQ(leave("b").notify.handed.at(0).owner.str(), "c");

    // One that has stopped asking is gone.
    (void)polling("deaf");
    (void)attempt(kind::native, "d");
    now += polls_within + 1ms;
    EXPECT_EQ(leave("c").notify.handed.at(0).owner.str(), "d");
    // One that receives messages by now has a ticket.
    (void)polling("deaf");
    const auto hears = attempt(kind::native, "deaf").answer;
    EXPECT_NE(std::get<busy>(hears).ticket, "");
    EXPECT_NE(std::get<busy>(hears).ticket, "0");
}

TEST_F(lock_record_test, skips_a_waiter_that_has_stopped_asking) {
    (void)attempt(kind::native, "a");
    (void)attempt(kind::native, "b");
    now += 5s;
    (void)apply(record, renew_request{key(kind::native), owner_id{"a"}, 1h}, here());
    now += line_patience;
    (void)attempt(kind::native, "c");
    const auto done = release(kind::native, "a");
    ASSERT_EQ(done.notify.handed.size(), 1U);
    EXPECT_EQ(done.notify.handed[0].owner.str(), "c");
}

TEST_F(lock_record_test, gives_a_larger_fence_with_each_grant) {
    std::set<std::uint64_t> seen;
    std::uint64_t last = 0;
    for (const auto* owner : {"a", "b", "c"}) {
        const auto answer = attempt(kind::recursive_fenced, owner).answer;
        const auto got = to_number(std::get<granted>(answer).fence);
        EXPECT_GT(got, last);
        EXPECT_EQ(record.last_fence, got);
        last = got;
        (void)release(kind::recursive_fenced, owner);
    }
}

TEST_F(lock_record_test, admits_readers_together_and_lets_its_writer_read) {
    EXPECT_TRUE(is<granted>(attempt(kind::shared_write, "w")));
    EXPECT_TRUE(is<busy>(attempt(kind::shared_read, "r")));
    attempt_request read_too{key(kind::shared_read), owner_id{"w"}, 10s};
    read_too.downgrading_from = owner_id{"w"};
    EXPECT_TRUE(is<granted>(apply(record, read_too, here())));
    const auto done = release(kind::shared_write, "w");
    EXPECT_TRUE(done.notify.all);
    EXPECT_TRUE(is<granted>(attempt(kind::shared_read, "r")));
    EXPECT_TRUE(is<busy>(attempt(kind::shared_write, "w2")));
}

TEST_F(lock_record_test, regains_released_expired_and_returned_permits_but_not_disowned_ones) {
    const auto k = kind::semaphore;
    EXPECT_EQ(adjust(k, adjustment::set_if_unset, 10, "1"), 1);
    EXPECT_EQ(adjust(k, adjustment::set_if_unset, 20, "2"), 0);
    EXPECT_TRUE(is<granted>(attempt(k, "a", 2)));
    EXPECT_TRUE(is<granted>(attempt(k, "b", 3)));
    EXPECT_TRUE(is<granted>(attempt(k, "c", 4)));
    EXPECT_TRUE(is<busy>(attempt(k, "d", 2)));
    EXPECT_EQ(adjust(k, adjustment::read, 0, "3"), 1);
    EXPECT_TRUE(is<released>(release(k, "a")));
    EXPECT_EQ(adjust(k, adjustment::release, 0, "4", "b"), 0);
    EXPECT_EQ(adjust(k, adjustment::release, 0, "5", "b"), -1);
    EXPECT_EQ(adjust(k, adjustment::read, 0, "6"), 6);
    EXPECT_EQ(adjust(k, adjustment::disown, 0, "7", "c"), 1);
    EXPECT_EQ(adjust(k, adjustment::read, 0, "8"), 6);
    EXPECT_TRUE(is<granted>(attempt(k, "e", 6)));
    now += 10s;
    EXPECT_EQ(adjust(k, adjustment::read, 0, "9"), 6);
}

TEST_F(lock_record_test, counts_a_repeated_adjustment_once_while_it_remembers_it) {
    remembers = 1min;
    const auto k = kind::semaphore;
    EXPECT_EQ(adjust(k, adjustment::add, 5, "x"), 5);
    EXPECT_EQ(adjust(k, adjustment::add, 1, "y"), 6);
    EXPECT_EQ(adjust(k, adjustment::add, 5, "x"), 5) << "the same answer again";
    now += 1min - 1ns;
    EXPECT_EQ(adjust(k, adjustment::add, 5, "x"), 5);
    EXPECT_EQ(adjust(k, adjustment::read, 0, "z"), 6);
    now += 1ns;
    EXPECT_EQ(adjust(k, adjustment::add, 5, "x"), 11);
}

TEST_F(lock_record_test, opens_a_latch_for_all_at_zero) {
    EXPECT_EQ(adjust(kind::latch, adjustment::set_if_unset, 2, "1"), 1);
    EXPECT_TRUE(is<busy>(attempt(kind::latch, "a")));
    EXPECT_EQ(adjust(kind::latch, adjustment::count_down, 1, "2"), 1);
    const auto last =
        apply(record, adjust_request{key(kind::latch), adjustment::count_down, 5, owner_id{"3"}, {}}, here());
    EXPECT_TRUE(last.notify.all);
    EXPECT_TRUE(is<granted>(attempt(kind::latch, "a")));
    EXPECT_TRUE(record.idle());
}

// Random requests of few owners at random times. Each step checks the record by itself, and the leases in it
// against a list of leases that were promised.
TEST_F(lock_record_test, keeps_its_promises_under_random_requests) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        std::mt19937 random{seed};
        const auto pick = [&](int least, int most) {
            return std::uniform_int_distribution{least, most}(random);
        };
        record = {};
        remembers = pick(0, 1) == 0 ? 0ms : 10s;
        const std::vector<std::vector<kind>> families{{kind::native, kind::native_fenced},
                                                      {kind::recursive, kind::recursive_fenced, kind::fair},
                                                      {kind::shared_read, kind::shared_write},
                                                      {kind::semaphore, kind::permit_semaphore}};
        const auto& kinds = families[static_cast<std::size_t>(pick(0, 3))];
        const bool permits = kinds[0] == kind::semaphore;
        constexpr std::int64_t total = 5;
        if (permits) (void)adjust(kinds[0], adjustment::set_if_unset, total, "total");
        std::uint64_t last_fence = 0;
        std::map<std::pair<kind, std::string>, store_time> promised;
        for (int step = 0; step < 200; ++step) {
            now += milliseconds{pick(0, 3) == 0 ? pick(0, 12'000) : pick(0, 200)};
            const auto k = kinds[static_cast<std::size_t>(pick(0, static_cast<int>(kinds.size()) - 1))];
            const auto owner = std::string(1, static_cast<char>('a' + pick(0, 5)));
            std::string granted_now;
            switch (pick(0, 3)) {
                case 0:
                case 1: {
                    const auto n = permits ? static_cast<std::uint32_t>(pick(1, 3)) : 1U;
                    const auto done =
                        attempt(k, owner.c_str(), n, pick(0, 1) == 0 ? intent::look : intent::queue);
                    if (const auto* yes = std::get_if<granted>(&done.answer)) {
                        const auto held =
                            std::find_if(record.holders.begin(), record.holders.end(),
                                         [&](auto& h) { return h.of == k && h.owner.str() == owner; });
                        ASSERT_NE(held, record.holders.end());
                        ASSERT_GE(held->expires, now + 10s);
                        ASSERT_GE(yes->kept_for, 10s);
                        auto& until = promised[{k, owner}];
                        until = std::max(until, now + 10s);
                        granted_now = owner;
                        if (yes->fence != fence::none) {
                            ASSERT_GT(to_number(yes->fence), last_fence);
                            last_fence = to_number(yes->fence);
                        }
                    }
                    break;
                }
                case 2:
                    (void)release(k, owner.c_str());
                    promised.erase({k, owner});
                    break;
                default: {
                    const milliseconds lease{pick(1, 20'000)};
                    const auto done =
                        apply(record, renew_request{{k, "job"}, owner_id{owner}, lease}, here());
                    if (std::holds_alternative<renewed>(done.answer)) {
                        auto& until = promised[{k, owner}];
                        until = std::max(until, now + lease);
                    }
                }
            }
            // No owner is in the record twice, and none shares the lock with an exclusive holder.
            std::set<std::pair<kind, std::string>> holders;
            std::size_t writers = 0;
            std::int64_t out = 0;
            for (const auto& h : record.holders) {
                ASSERT_TRUE(holders.emplace(h.of, h.owner.str()).second) << "seed " << seed;
                writers += static_cast<std::size_t>(!permits && h.of != kind::shared_read);
                out += h.holds;
            }
            if (permits) {
                ASSERT_EQ(record.count.value_or(lock_record::counter{}).value + out, total)
                    << "seed " << seed;
                ASSERT_LE(out, total);
            } else {
                ASSERT_LE(writers, 1U) << "seed " << seed;
                ASSERT_TRUE(writers == 0 || record.holders.size() == 1) << "seed " << seed;
            }
            std::set<std::string> queue;
            for (const auto& w : record.queue) {
                ASSERT_TRUE(queue.insert(w.owner.str()).second) << "seed " << seed;
                ASSERT_FALSE(granted_now == w.owner.str()) << "seed " << seed;
            }
            // A promised lease never gets shorter.
            for (const auto& [whose, until] : promised) {
                if (until <= now) continue;
                const auto held = std::find_if(record.holders.begin(), record.holders.end(), [&](auto& h) {
                    return h.of == whose.first && h.owner.str() == whose.second;
                });
                ASSERT_NE(held, record.holders.end()) << "seed " << seed;
                ASSERT_GE(held->expires, until) << "seed " << seed;
            }
            ASSERT_EQ(from_bytes(to_bytes(record)), record) << "seed " << seed;
        }
    }
}

// --- the bytes -------------------------------------------------------------------------------------------

class lock_record_bytes : public lock_record_test {
  protected:
    void SetUp() override {
        remembers = 1min;
        (void)attempt(kind::native_fenced, "a\n\0b");
        (void)attempt(kind::native, "b");
        (void)attempt(kind::native, "c");
        record.count = {kind::latch, -3};
        record.operations.push_back({owner_id{"x"}, -1, now});
        bytes = to_bytes(record);
    }

    std::string bytes;
};

TEST_F(lock_record_bytes, are_read_as_the_same_record) { EXPECT_EQ(from_bytes(bytes), record); }

TEST_F(lock_record_bytes, of_a_free_lock_are_few) {
    EXPECT_EQ(from_bytes(to_bytes(lock_record{})), lock_record{});
    EXPECT_LT(to_bytes(lock_record{}).size(), 32U);
}

TEST_F(lock_record_bytes, are_rejected_if_any_is_missing_or_added) {
    for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(from_bytes(bytes.substr(0, n))) << n;
    EXPECT_FALSE(from_bytes(bytes + '\0'));
}

TEST_F(lock_record_bytes, of_another_version_are_rejected) {
    auto newer = bytes;
    ++newer[0];
    EXPECT_FALSE(from_bytes(newer));
}

// A format that changes must get a new version: records live longer than programs.
TEST_F(lock_record_bytes, have_not_changed) {
    record = {};
    record.holders.push_back({kind::recursive, owner_id{"me"}, store_time{1s}, 2});
    record.last_fence = 48;
    const std::string written{
        "\x01"
        "\x01\0\0\0"
        "\x02"
        "\x02\0\0\0me"
        "\0\xCA\x9A\x3B\0\0\0\0"
        "\x02\0\0\0"
        "\0\0\0\0"
        "\x30\0\0\0\0\0\0\0"
        "\0\0\0\0"
        "\0",
        1 + 4 + 1 + 6 + 8 + 4 + 4 + 8 + 4 + 1};
    EXPECT_EQ(to_bytes(record), written);
}

}  // namespace
}  // namespace holdfast::engine
