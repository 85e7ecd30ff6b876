#include "fallback/wish_course.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::fallback {
namespace {

admin::group_mode mode(std::vector<std::size_t> needed, bool settled = false) {
    return {.levels = {"a", "b", "c"}, .needed = std::move(needed), .settled = settled};
}

TEST(wish_course, goes_on_while_nobody_decides_otherwise) {
    wish_course to_third{2};
    for (const auto& step : {mode({0}), mode({0}), mode({0, 1}), mode({1}), mode({1, 2}), mode({2})})
        EXPECT_FALSE(to_third.is_overruled_by(step));
    wish_course to_first{0};
    for (const auto& step : {mode({2}), mode({2, 1}), mode({1}), mode({1, 0}), mode({0})})
        EXPECT_FALSE(to_first.is_overruled_by(step));
}

TEST(wish_course, ends_when_somebody_goes_the_other_way) {
    wish_course to_third{2};
    EXPECT_FALSE(to_third.is_overruled_by(mode({1})));
    EXPECT_TRUE(to_third.is_overruled_by(mode({1, 0})));
    wish_course to_second{1};
    EXPECT_FALSE(to_second.is_overruled_by(mode({0, 1})));
    EXPECT_TRUE(to_second.is_overruled_by(mode({0})));
}

TEST(wish_course, ends_when_two_levels_are_to_stay) {
    wish_course to_second{1};
    EXPECT_FALSE(to_second.is_overruled_by(mode({0, 1}, true))) << "the wish came later";
    EXPECT_FALSE(to_second.is_overruled_by(mode({0, 1}, true)));
    wish_course begun{1};
    EXPECT_FALSE(begun.is_overruled_by(mode({0, 1})));
    EXPECT_TRUE(begun.is_overruled_by(mode({0, 1}, true)));
}

}  // namespace
}  // namespace holdfast::fallback
