#include "cli/run/owed_reports.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using news = guard_report::news;

std::vector<guard_report> all_of(owed_reports owed) {
    std::vector<guard_report> all;
    for (; !owed.empty(); owed.drop_first()) all.push_back(owed.first());
    return all;
}

TEST(OwedReportsTest, are_sent_in_the_order_of_their_arrival) {
    owed_reports owed;
    EXPECT_TRUE(owed.empty());
    for (const auto what : {news::began_to_end, news::ended, news::nothing_left, news::left_alone})
        owed.add({.what = what});
    const auto all = all_of(owed);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].what, news::began_to_end);
    EXPECT_EQ(all[1].what, news::ended);
    EXPECT_EQ(all[2].what, news::nothing_left);
    EXPECT_EQ(all[3].what, news::left_alone);
}

TEST(OwedReportsTest, keep_only_the_last_of_many_stops_and_never_lose_the_end) {
    owed_reports owed;
    for (int i = 0; i < 1000; ++i) owed.add({.what = news::stopped, .by_signal = i});
    owed.add({.what = news::began_to_end});
    for (int i = 0; i < 1000; ++i) owed.add({.what = news::stopped, .by_signal = i});
    owed.add({.what = news::ended, .status = 7});
    const auto all = all_of(owed);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].by_signal, 999);
    EXPECT_EQ(all[1].what, news::began_to_end);
    EXPECT_EQ(all[2].by_signal, 999);
    EXPECT_EQ(all[3].status, 7);
}

TEST(OwedReportsTest, can_all_be_dropped) {
    owed_reports owed;
    owed.add({.what = news::ended});
    owed.drop_all();
    EXPECT_TRUE(owed.empty());
}

}  // namespace
}  // namespace holdfast::cli
