#include "cli/run/unsent_reports.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using report_kind = guard_report::kind;

std::vector<guard_report> all_of(unsent_reports unsent) {
    std::vector<guard_report> all;
    for (; !unsent.empty(); unsent.drop_first()) all.push_back(unsent.first());
    return all;
}

TEST(UnsentReports, are_sent_in_the_order_of_their_arrival) {
    unsent_reports unsent;
    EXPECT_TRUE(unsent.empty());
    for (const auto what :
         {report_kind::began_to_end, report_kind::ended, report_kind::nothing_left, report_kind::left_alone})
        unsent.add({.what = what});
    const auto all = all_of(unsent);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].what, report_kind::began_to_end);
    EXPECT_EQ(all[1].what, report_kind::ended);
    EXPECT_EQ(all[2].what, report_kind::nothing_left);
    EXPECT_EQ(all[3].what, report_kind::left_alone);
}

TEST(UnsentReports, keep_only_the_last_of_many_stops_and_never_lose_the_end) {
    unsent_reports unsent;
    for (int i = 0; i < 1000; ++i) unsent.add({.what = report_kind::stopped, .by_signal = i});
    unsent.add({.what = report_kind::began_to_end});
    for (int i = 0; i < 1000; ++i) unsent.add({.what = report_kind::stopped, .by_signal = i});
    unsent.add({.what = report_kind::ended, .status = 7});
    const auto all = all_of(unsent);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].by_signal, 999);
    EXPECT_EQ(all[1].what, report_kind::began_to_end);
    EXPECT_EQ(all[2].by_signal, 999);
    EXPECT_EQ(all[3].status, 7);
}

TEST(UnsentReports, can_all_be_dropped) {
    unsent_reports unsent;
    unsent.add({.what = report_kind::ended});
    unsent.drop_all();
    EXPECT_TRUE(unsent.empty());
}

}  // namespace
}  // namespace holdfast::cli
