// The sweeps agree with a search through every order.
#include "chaos/checker/models.hpp"
#include "chaos/tests/brute_force.hpp"
#include "chaos/tests/latch_histories.hpp"
#include "chaos/tests/random_history.hpp"

#include <gtest/gtest.h>

#include <iostream>

namespace holdfast::chaos {

static void PrintTo(const lock_row& l, std::ostream* out) { *out << l.name; }

namespace {

violations sweep(const std::vector<attempt>& attempts, const lock_row& lock) {
    switch (lock.model) {
        case model::exclusive: return check_exclusive(attempts);
        case model::shared: return check_shared(attempts);
        case model::counted: return check_counted(attempts, lock.permits);
        case model::reentrant: {
            std::vector<attempt> folded;
            auto found = check_nesting(attempts, folded);
            for (auto& v : check_exclusive(folded)) found.push_back(std::move(v));
            return found;
        }
        case model::latch: break;  // below
    }
    return {};
}

std::string shown(const std::vector<attempt>& attempts) {
    std::string text;
    for (const auto& e : events_of(attempts)) {
        text += std::to_string(e.t) + ": " + describe(e, {lock_row{"it"}}, 0) +
                (e.deadline != 0 ? " [" + std::to_string(e.deadline) + "]" : "") + " depth " +
                std::to_string(e.depth) + "\n";
    }
    return text;
}

constexpr int histories = 1'000;

class holder_sweep : public ::testing::TestWithParam<lock_row> {};

TEST_P(holder_sweep, agrees_with_brute_force_on_valid_histories) {
    for (int seed = 0; seed < histories; ++seed) {
        const auto h = history_maker{static_cast<std::uint64_t>(seed), GetParam()}.valid();
        ASSERT_TRUE((brute_force{h, GetParam()}.explainable())) << "the generator, seed " << seed << "\n"
                                                                << shown(h);
        ASSERT_TRUE(sweep(h, GetParam()).empty()) << "seed " << seed << "\n" << shown(h);
        ASSERT_TRUE(check_fences(h).empty() || GetParam().model != model::exclusive)
            << "seed " << seed << "\n"
            << shown(h);
    }
}

TEST_P(holder_sweep, agrees_with_brute_force_on_corrupted_histories) {
    int wrong = 0;
    for (int seed = 0; seed < histories; ++seed) {
        const auto h = history_maker{static_cast<std::uint64_t>(seed), GetParam()}.corrupted();
        const bool right = brute_force{h, GetParam()}.explainable();
        wrong += right ? 0 : 1;
        ASSERT_EQ(sweep(h, GetParam()).empty(), right) << "seed " << seed << "\n" << shown(h);
    }
    // Else the histories would show nothing about one of the two answers.
    EXPECT_GT(wrong, histories / 50);
    EXPECT_LT(wrong, histories * 49 / 50);
}

INSTANTIATE_TEST_SUITE_P(models, holder_sweep,
                         ::testing::Values(lock_row{"exclusive", model::exclusive},
                                           lock_row{"reentrant", model::reentrant},
                                           lock_row{"shared", model::shared},
                                           lock_row{"two_permits", model::counted, false, 2},
                                           lock_row{"three_permits", model::counted, false, 3}),
                         [](const auto& one) { return one.param.name; });

TEST(fence_sweep, agrees_with_brute_force_on_corrupted_histories) {
    const lock_row lock{"fenced", model::exclusive, true};
    int wrong = 0;
    for (int seed = 0; seed < histories; ++seed) {
        const auto h = history_maker{static_cast<std::uint64_t>(seed), lock}.corrupted();
        const bool right = brute_force{h, lock}.fences_explainable();
        wrong += right ? 0 : 1;
        ASSERT_EQ(check_fences(h).empty(), right) << "seed " << seed << "\n" << shown(h);
    }
    EXPECT_GT(wrong, histories / 20);
    EXPECT_LT(wrong, histories * 19 / 20);
}

std::string shown(const latch_history& h) {
    std::string text;
    for (const auto& e : h.events)
        text += describe(e, {lock_row{"it"}}, 0) + " [" + std::to_string(e.t) + "]\n";
    for (const auto& f : h.forgetting)
        text += "forgetting " + std::to_string(f.from) + " .. " + std::to_string(f.to) + "\n";
    return text;
}

bool counts_are_right(const latch_history& h) {
    return check_counts(uses_of(h.events, h.forgetting), h.forgetting).empty();
}

TEST(latch_sweep, agrees_with_brute_force_on_valid_histories) {
    for (int seed = 0; seed < histories; ++seed) {
        const auto h = latch_history_maker{static_cast<std::uint64_t>(seed)}.valid();
        ASSERT_TRUE(latch_brute_force{h}.explainable()) << "the generator, seed " << seed << "\n" << shown(h);
        ASSERT_TRUE(counts_are_right(h)) << "seed " << seed << "\n" << shown(h);
    }
}

// Too long to try all orders. Too many uses have no answer, so a part is not judged.
TEST(latch_sweep, accepts_long_valid_histories) {
    std::size_t unjudged = 0;
    for (int seed = 0; seed < 20; ++seed) {
        const auto h = latch_history_maker{static_cast<std::uint64_t>(seed)}.valid(400);
        const auto uses = uses_of(h.events, h.forgetting);
        ASSERT_TRUE(check_counts(uses, h.forgetting, &unjudged).empty()) << "seed " << seed << "\n"
                                                                         << shown(h);
    }
    EXPECT_GT(unjudged, 0U);
}

TEST(latch_sweep, agrees_with_brute_force_on_corrupted_histories) {
    int wrong = 0;
    for (int seed = 0; seed < histories; ++seed) {
        const auto h = latch_history_maker{static_cast<std::uint64_t>(seed)}.corrupted();
        const bool right = latch_brute_force{h}.explainable();
        wrong += right ? 0 : 1;
        ASSERT_EQ(counts_are_right(h), right) << "seed " << seed << "\n" << shown(h);
    }
    EXPECT_GT(wrong, histories / 20);
    EXPECT_LT(wrong, histories * 19 / 20);
}

// A "no" is legal if another attempt may have been present, which a loop over all pairs finds out.
TEST(refusal_sweep, agrees_with_a_loop_over_all_pairs) {
    const lock_row lock{"it"};
    const presence how{.linger = 6, .undone_after = 2};
    int wrong = 0;
    for (int seed = 0; seed < histories; ++seed) {
        auto h = history_maker{static_cast<std::uint64_t>(seed), lock}.valid();
        dice chance{static_cast<std::uint64_t>(seed)};
        for (auto& a : h) {
            if (!chance.percent(40)) continue;
            a.answer = phase::busy;
            a.wait = chance.percent(50) ? 0 : 1;
            a.release_begun = a.release_answered = never;
        }
        const auto ends = [&](const attempt& a) {
            if (a.held() && a.release_answered == never) return never;
            if (a.held() && a.release != phase::ok)
                return std::max(a.release_answered, a.believed) + how.linger;
            if (a.held()) return a.release_answered;
            return a.answered + (a.wait == 0 ? 0 : how.undone_after);
        };
        std::size_t expected = 0;
        for (const auto& no : h) {
            if (no.answer != phase::busy) continue;
            expected += std::none_of(h.begin(), h.end(), [&](const attempt& a) {
                const bool nothing = a.answer == phase::busy && a.wait == 0 && a.process != no.process;
                return a.id != no.id && !nothing && a.asked <= no.answered && ends(a) >= no.asked;
            });
        }
        wrong += expected > 0 ? 1 : 0;
        ASSERT_EQ(check_refusals(h, lock, {}, how).size(), expected) << "seed " << seed << "\n" << shown(h);
    }
    EXPECT_GT(wrong, histories / 20);
}

}  // namespace
}  // namespace holdfast::chaos
