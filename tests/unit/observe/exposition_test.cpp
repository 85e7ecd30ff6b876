// The text that Prometheus scrapes.
#include "observe/exposition.hpp"
#include "observe/counters.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace holdfast::test {
namespace {

using namespace observe;
using namespace std::chrono_literals;

TEST(exposition, describes_each_metric_once_and_escapes_labels) {
    exposition to{metrics_format::prometheus};
    to.counter("h_turns", "Turns\nwith a \\ and a \".");
    to.add({{"who", "a \"b\"\\\n"}, {"left_out", ""}}, std::uint64_t{7});
    to.add({}, std::uint64_t{0});
    to.gauge("h_age_seconds", "Age.");
    to.add({}, 0.25);
    to.info("h_info", "What it is.");
    to.add({{"version", "1"}}, std::uint64_t{1});
    EXPECT_EQ(std::move(to).take(),
              "# HELP h_turns_total Turns\\nwith a \\\\ and a \".\n"
              "# TYPE h_turns_total counter\n"
              "h_turns_total{who=\"a \\\"b\\\"\\\\\\n\"} 7\n"
              "h_turns_total 0\n"
              "# HELP h_age_seconds Age.\n"
              "# TYPE h_age_seconds gauge\n"
              "h_age_seconds 0.25\n"
              "# HELP h_info What it is.\n"
              "# TYPE h_info gauge\n"
              "h_info{version=\"1\"} 1\n");
}

TEST(exposition, follows_open_metrics_where_that_differs) {
    exposition to{metrics_format::open_metrics};
    to.counter("h_turns", "A \".");
    to.add({}, std::uint64_t{7});
    to.info("h", "What it is.");
    to.add({{"version", "1"}}, std::uint64_t{1});
    EXPECT_EQ(std::move(to).take(),
              "# HELP h_turns A \\\".\n"
              "# TYPE h_turns counter\n"
              "h_turns_total 7\n"
              "# HELP h What it is.\n"
              "# TYPE h info\n"
              "h_info{version=\"1\"} 1\n"
              "# EOF\n");
}

// The bounds of the text are those of the recorder: nothing is counted in another bucket.
TEST(exposition, histogram_has_cumulated_buckets_in_seconds) {
    recorder times;
    for (const auto us : {1us, 63us, 64us, 127us, 3'000'000us}) times.add(us);
    times.add(24h);  // beyond all bounds
    exposition to{metrics_format::prometheus};
    to.histogram("h_seconds", "Times.");
    to.add({{"family", "x"}}, times.get());
    const auto text = std::move(to).take();
    for (const std::string_view line :
         {"h_seconds_bucket{family=\"x\",le=\"6.4e-05\"} 2\n",
          "h_seconds_bucket{family=\"x\",le=\"0.000128\"} 4\n",
          "h_seconds_bucket{family=\"x\",le=\"2.097152\"} 4\n",
          "h_seconds_bucket{family=\"x\",le=\"4.194304\"} 5\n",
          "h_seconds_bucket{family=\"x\",le=\"536.870912\"} 5\n",
          "h_seconds_bucket{family=\"x\",le=\"+Inf\"} 6\n", "h_seconds_sum{family=\"x\"} 86403.000255\n",
          "h_seconds_count{family=\"x\"} 6\n"})
        EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST(exposition, share_of_a_lease_counts_up_to_its_bound) {
    share_recorder shares;
    shares.add(3s, 30s);   // 0.1 is within 0.1
    shares.add(10s, 30s);  // a renewal on time
    shares.add(31s, 30s);  // too late
    shares.add(-1s, 30s);  // clocks of two threads
    shares.add(1s, 0s);    // no lease: no share
    exposition to{metrics_format::prometheus};
    to.histogram("h_ratio", "Shares.");
    to.add({}, shares);
    EXPECT_EQ(std::move(to).take(),
              "# HELP h_ratio Shares.\n# TYPE h_ratio histogram\n"
              "h_ratio_bucket{le=\"0.1\"} 2\nh_ratio_bucket{le=\"0.25\"} 2\nh_ratio_bucket{le=\"0.4\"} 3\n"
              "h_ratio_bucket{le=\"0.5\"} 3\nh_ratio_bucket{le=\"0.6\"} 3\nh_ratio_bucket{le=\"0.75\"} 3\n"
              "h_ratio_bucket{le=\"0.9\"} 3\nh_ratio_bucket{le=\"1.0\"} 3\nh_ratio_bucket{le=\"+Inf\"} 4\n"
              "h_ratio_sum 1.466\nh_ratio_count 4\n");
}

TEST(counters, lock_is_counted_in_the_first_family_that_matches) {
    counters all{{{"stock", "stock:*"}, {"all_of_s", "s*"}}};
    EXPECT_EQ(all.of("stock:1").family, "stock");
    EXPECT_EQ(all.of("sale").family, "all_of_s");
    EXPECT_EQ(all.of("order").family, "other");
    EXPECT_EQ(counters{{}}.of("order").family, "") << "no label where there are no families";
    all.of("stock:1").acquired.add(2);
    all.of("order").acquired.add();
    all.of("order").lose(loss::evicted);
    const auto sum = all.snapshot(0);
    EXPECT_EQ(sum.acquired, 3U);
    EXPECT_EQ(sum.lost, 1U);
}

TEST(counters, each_failure_has_a_name_of_its_own) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < failure_kinds; ++i) names.insert(name_of_failure(i));
    EXPECT_EQ(names.size(), failure_kinds);
    EXPECT_EQ(name_of_failure(index_of(make_error_code(errc::bad_reply))), "bad_reply");
    EXPECT_EQ(name_of_failure(index_of(std::make_error_code(std::errc::io_error))), "other");
}

}  // namespace
}  // namespace holdfast::test
