// What a client's metrics say about locks on a real server.
#include "server/scene.hpp"

#include <holdfast/metrics.hpp>

#include <gtest/gtest.h>

#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

class metrics : public ::testing::Test {
  protected:
    [[nodiscard]] config counted() const {
        auto c = settings(redis.url());
        c.families = {{"stock", "stock:*"}};
        return c;
    }
    // Returns the value of a series, written as in the text: name{labels}. Empty: there is none.
    static std::optional<double> in(const std::string& text, const std::string& series) {
        const auto at = ("\n" + text).find("\n" + series + ' ');
        if (at == std::string::npos) return std::nullopt;
        return std::stod(text.substr(at + series.size() + 1));
    }
    std::optional<double> of(const std::string& series) { return in(metrics_text(a), series); }

    redis_server redis;
    client a{counted()};
    client b{settings(redis.url())};
};

TEST_F(metrics, count_acquisitions_of_each_family) {
    auto held = mutex(a, "stock:1").acquire();
    const auto other = mutex(b, "order").acquire();
    EXPECT_FALSE(mutex(a, "order").try_acquire());
    EXPECT_EQ(of("holdfast_acquisitions_total{family=\"stock\",outcome=\"acquired\"}"), 1);
    EXPECT_EQ(of("holdfast_acquisitions_total{family=\"other\",outcome=\"not_acquired\"}"), 1);
    EXPECT_EQ(of("holdfast_grants_total{family=\"stock\",strength=\"single\"}"), 1);
    EXPECT_EQ(of("holdfast_held{family=\"stock\"}"), 1);
    EXPECT_GT(*of("holdfast_longest_hold_seconds{family=\"stock\"}"), 0);
    EXPECT_EQ(of("holdfast_store_up"), 1);
    held.release();
    EXPECT_EQ(of("holdfast_held{family=\"stock\"}"), 0);
    EXPECT_EQ(of("holdfast_releases_total{family=\"stock\",outcome=\"released\"}"), 1);
    EXPECT_EQ(of("holdfast_hold_seconds_count{family=\"stock\"}"), 1);
    EXPECT_EQ(of("holdfast_lease_used_ratio_bucket{family=\"stock\",at=\"release\",le=\"0.9\"}"), 1);
    EXPECT_EQ(of("holdfast_longest_hold_seconds{family=\"stock\"}"), 0);
}

TEST_F(metrics, show_who_waits) {
    auto held = mutex(b, "stock:1").acquire();
    auto waiter = in_background([&] { return mutex(a, "stock:1").acquire(); });
    EXPECT_TRUE(eventually(patience, [&] { return of("holdfast_waiting{family=\"stock\"}") == 1; }));
    EXPECT_TRUE(
        eventually(patience, [&] { return *of("holdfast_oldest_wait_seconds{family=\"stock\"}") > 0; }));
    held.release();
    auto got = waiter.get();
    EXPECT_EQ(of("holdfast_waiting{family=\"stock\"}"), 0) << "a holder does not wait";
    EXPECT_EQ(of("holdfast_wait_seconds_count{family=\"stock\"}"), 1);
}

TEST_F(metrics, say_why_locks_are_lost_and_acquisitions_fail) {
    const auto held = mutex(a, "stock:1").acquire();
    admin::evict(b, "stock:1");
    EXPECT_TRUE(eventually(
        patience, [&] { return of("holdfast_lost_total{family=\"stock\",reason=\"evicted\"}") == 1; }));
    const auto brief = mutex(a, "order").acquire({.ttl = 50ms, .renew = false});
    EXPECT_TRUE(eventually(
        patience, [&] { return of("holdfast_lost_total{family=\"other\",reason=\"expired\"}") == 1; }));
    redis.command({"SET", "order", "of another program"});
    redis.command({"SADD", "queue", "of another program"});
    std::error_code ec;
    (void)mutex(a, "queue").try_acquire(ec);
    EXPECT_EQ(of("holdfast_failures_total{family=\"other\",reason=\"wrong_kind\"}"), 1) << ec.message();
    EXPECT_EQ(of("holdfast_acquisitions_total{family=\"other\",outcome=\"failed\"}"), 1);
    redis.stop();
    EXPECT_TRUE(eventually(patience, [&] { return of("holdfast_store_up") == 0; }));
    EXPECT_EQ(of("holdfast_events_total{kind=\"store_down\"}"), 1) << "although nobody listens";
}

TEST_F(metrics, renewals_show_how_much_of_the_lease_had_passed) {
    const auto held = mutex(a, "stock:1").acquire({.ttl = 300ms * slower, .renew = true});
    EXPECT_TRUE(eventually(patience, [&] {
        return *of("holdfast_lease_used_ratio_count{family=\"stock\",at=\"renewal\"}") >= 2;
    }));
    EXPECT_GE(of("holdfast_renewals_total{result=\"renewed\"}"), 2);
    EXPECT_EQ(of("holdfast_lease_used_ratio_bucket{family=\"stock\",at=\"renewal\",le=\"0.25\"}"), 0)
        << "a third is due";
}

// Otherwise a rate does not see the first one.
TEST_F(metrics, every_series_is_there_from_the_start) {
    const auto names_in = [](const std::string& text) {
        std::vector<std::string> all;
        for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
            // Whether the store is up is not known before its first answer.
            if (const auto line = std::string_view{text}.substr(at);
                !line.starts_with('#') && !line.starts_with("holdfast_store_up"))
                all.push_back(text.substr(at, text.find(' ', at) - at));
        return all;
    };
    const auto before = names_in(metrics_text(a));
    auto held = mutex(a, "stock:1").acquire();
    EXPECT_FALSE(mutex(b, "stock:1").try_acquire());
    held.release();
    EXPECT_EQ(names_in(metrics_text(a)), before);
}

TEST_F(metrics, families_that_cannot_be_are_refused) {
    const auto refused = [&](std::vector<lock_family> all, std::string_view because) {
        auto c = settings(redis.url());
        c.families = std::move(all);
        const auto why = message_of([&] { client with{c}; });
        EXPECT_NE(why.find(because), std::string::npos) << why;
    };
    refused({{"", "*"}}, "needs a name");
    refused({{"other", "*"}}, "match no family");
    refused({{"a", "x"}, {"a", "y"}}, "given twice");
    refused({{"a", ""}}, "needs a pattern");
    refused(std::vector<lock_family>(33, {"a", "x"}), "there may be 32");
}

TEST_F(metrics, say_when_the_breaker_is_open) {
    auto how = settings(redis.url());
    how.policies = {{.name = "job", .match = "job:*"}};
    how.answer_timeout = 300ms * slower;
    client c{how};
    EXPECT_EQ(in(metrics_text(c), "holdfast_breaker_open"), 0);
    redis.stop();
    EXPECT_TRUE(eventually(patience, [&] {
        (void)code_of([&] { (void)mutex(c, "job:1").try_acquire(); });
        return in(metrics_text(c), "holdfast_breaker_open") == 1;
    }));
    EXPECT_EQ(of("holdfast_breaker_open"), std::nullopt) << "without policies there is none";
}

TEST_F(metrics, show_the_mode_of_a_group) {
    const temp_dir folder;
    client c{settings("joint:mode_lease=1s,group=shop," + redis.url() +
                          "?longest_lease=2s,sqlite:" + (folder.path() / "locks").string(),
                      2s)};
    const auto now = [&](const std::string& series) { return in(metrics_text(c), series); };
    EXPECT_EQ(now("holdfast_mode_lease_seconds{group=\"shop\"}"), std::nullopt) << "nobody has used it yet";
    ASSERT_TRUE(mutex(c, "stock:1").try_acquire_for(patience));
    EXPECT_EQ(now("holdfast_mode_needs{group=\"shop\",level=\"1\"}"), 1);
    EXPECT_EQ(now("holdfast_mode_needs{group=\"shop\",level=\"2\"}"), 0);
    EXPECT_TRUE(
        eventually(patience, [&] { return *now("holdfast_mode_lease_seconds{group=\"shop\"}") > 0; }));
    EXPECT_EQ(now("holdfast_source_up{source=\"arbiter\"}"), 1);
    const auto before = *now("holdfast_mode_epoch{group=\"shop\"}");
    (void)admin::use_two_levels(c, {.reason = "test"});
    EXPECT_TRUE(
        eventually(patience, [&] { return now("holdfast_mode_needs{group=\"shop\",level=\"2\"}") == 1; }));
    EXPECT_EQ(now("holdfast_mode_needs{group=\"shop\",level=\"1\"}"), 1);
    EXPECT_GT(now("holdfast_mode_epoch{group=\"shop\"}"), before);
    redis.stop();
    EXPECT_TRUE(eventually(patience, [&] { return now("holdfast_store_up") == 0; }));
    EXPECT_TRUE(admin::switch_mode(c, 1, {.reason = "test"}).uses_only(1));
    EXPECT_TRUE(eventually(patience, [&] { return now("holdfast_store_up") == 1; }))
        << "the level that failed is not needed any more";
    EXPECT_EQ(of("holdfast_source_up{source=\"arbiter\"}"), std::nullopt) << "without an arbiter";
}

// Prometheus's own parser and lint.
TEST_F(metrics, promtool_finds_no_fault) {
    const auto held = mutex(a, "stock:1").acquire();
    const temp_dir folder;
    const auto path = (folder.path() / "metrics").string();
    std::ofstream{path} << metrics_text(a);
    child_process tool{{"/bin/sh", "-c", "promtool check metrics < '" + path + "' 2>&1"}};
    EXPECT_EQ(tool.wait(patience), 0);
    EXPECT_EQ(tool.output(), "");
}

}  // namespace
}  // namespace holdfast::test
