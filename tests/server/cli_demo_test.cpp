// `holdfast demo` shows what it promises: services without a shared lock sell what they do not have.
#include "cli_show.hpp"
#include "support/redis_server.hpp"
#include "support/send_signal.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::test::cli {
namespace {

std::vector<std::string> demo(const std::vector<std::string>& more = {}) {
    return command_line("demo", more);
}

// 4,000 requests of 64 threads: without a lock about every second sale is lost (thousands), so a run that
// loses none cannot be luck. Each thread starts with a cold cache that takes 20 ms to fill.
void expect_only_the_shared_lock_is_exact(const std::string& kind, const std::string& on = "redis") {
    const own_temp_folder place;
    child_process run{demo({"--requests", "4000", "--stock", "2400", "--json", "--kind", kind, "--on", on}),
                      place.environment()};
    const auto code = run.wait(patience);
    ASSERT_EQ(code, 0) << run.errors() << run.output();
    EXPECT_EQ(run.errors(), "");

    const auto report = nlohmann::json::parse(run.output());
    ASSERT_EQ(report.at("rounds").size(), 3U);
    const auto& none = report["rounds"][0];
    const auto& local = report["rounds"][1];
    const auto& shared = report["rounds"][2];
    EXPECT_GT(none["oversold"].get<int>() + none["lost_updates"].get<int>(), 0) << none;
    EXPECT_GT(none["rebuilds"].get<int>(), 1) << none;
    EXPECT_GT(local["oversold"].get<int>() + local["lost_updates"].get<int>(), 0) << local;
    EXPECT_LE(local["rebuilds"].get<int>(), 4) << local;

    EXPECT_EQ(shared["sold"], 2400);
    EXPECT_EQ(shared["refused"], 1600);
    EXPECT_EQ(shared["stock_left"], 0);
    EXPECT_EQ(shared["oversold"], 0);
    EXPECT_EQ(shared["lost_updates"], 0);
    EXPECT_EQ(shared["rebuilds"], 1);
    EXPECT_EQ(shared["exact"], true);
    EXPECT_TRUE(report["not_as_it_should_be"].empty());

    // Recorded sales, answers and the stock are counted separately, and agree.
    for (const auto& round : report["rounds"]) {
        EXPECT_EQ(round["answered"], 4000) << round;
        EXPECT_EQ(round["sold"].get<int>() + round["refused"].get<int>(), 4000) << round;
    }
    EXPECT_TRUE(place.empty());
}

TEST(cli_demo, only_the_shared_mutex_never_oversells) { expect_only_the_shared_lock_is_exact("mutex"); }

TEST(cli_demo, only_the_shared_recursive_mutex_never_oversells) {
    expect_only_the_shared_lock_is_exact("recursive");
}

TEST(cli_demo, only_the_mutex_in_an_sqlite_file_never_oversells) {
    expect_only_the_shared_lock_is_exact("mutex", "sqlite");
}

TEST(cli_demo, only_the_mutex_in_a_lock_file_never_oversells) {
    expect_only_the_shared_lock_is_exact("mutex", "file");
}

TEST(cli_demo, refuses_a_recursive_lock_in_a_lock_file_before_it_begins) {
    const own_temp_folder place;
    child_process run{demo({"--on", "file", "--kind", "recursive"}), place.environment()};
    EXPECT_EQ(run.wait(patience), 64) << run.errors();
    EXPECT_NE(run.errors().find("--on sqlite"), std::string::npos) << run.errors();
    EXPECT_EQ(run.output(), "");
}

TEST(cli_demo, uses_the_store_that_the_user_names) {
    const test::redis_server server;
    expect_only_the_shared_lock_is_exact("mutex", server.url());
}

TEST(cli_demo, reports_a_store_that_is_not_there_before_it_begins) {
    const own_temp_folder place;
    child_process run{demo({"--on", "redis://127.0.0.1:1"}), place.environment()};
    EXPECT_EQ(run.wait(patience), 69);
    EXPECT_EQ(run.output(), "");
}

TEST(cli_demo, prints_plain_lines_without_a_terminal) {
    const own_temp_folder place;
    child_process run{demo({"--requests", "2000", "--stock", "1200"}), place.environment()};
    ASSERT_EQ(run.wait(patience), 0) << run.errors() << run.output();
    EXPECT_EQ(run.output().find('\x1b'), std::string::npos);
    EXPECT_EQ(run.output().find('\r'), std::string::npos);
    EXPECT_NE(run.output().find("1,200 sold, 800 refused"), std::string::npos) << run.output();
    EXPECT_NE(run.output().find("Exact"), std::string::npos) << run.output();
}

TEST(cli_demo, names_the_round_that_did_not_go_as_predicted) {
    // With one process a lock inside it is enough, so round two has nothing to show.
    const own_temp_folder place;
    child_process run{demo({"--requests", "1000", "--stock", "600", "--processes", "1", "--json"}),
                      place.environment()};
    ASSERT_EQ(run.wait(patience), 1) << run.errors() << run.output();
    EXPECT_NE(run.errors().find("round 2"), std::string::npos) << run.errors();
    EXPECT_EQ(nlohmann::json::parse(run.output())["rounds"][1]["lost_updates"], 0);
}

// The first round may or may not meet the flaw of its chain here: the demo itself takes more requests.
TEST(cli_demo, outage_makes_no_wrong_sale_but_by_the_chain_of_the_article) {
    const own_temp_folder place;
    child_process run{demo({"outage", "--requests", "3000", "--stock", "1800", "--rate", "1000",
                            "--processes", "2", "--threads", "3", "--json"}),
                      place.environment()};
    const auto code = run.wait(patience);
    ASSERT_TRUE(code == 0 || code == 1) << run.errors();
    const auto json = nlohmann::json::parse(run.output());
    ASSERT_EQ(json["rounds"].size(), 4U);
    for (const auto& round : json["rounds"]) {
        EXPECT_EQ(round["served"].get<int>() + round["refused"].get<int>(), 3000);
        EXPECT_LT(round["killed_at_s"], round["back_at_s"]);
        EXPECT_GT(round["served"], 0) << round["scheme"];
        if (round["round"] != 1) {
            EXPECT_EQ(round["wrong_sales"], 0) << round["scheme"];
        }
    }
    EXPECT_GT(json["rounds"][2]["served_without_the_store"], 0);
    EXPECT_TRUE(place.empty());
}

TEST(cli_demo, names_the_package_to_install_without_redis_server) {
    const own_temp_folder place;
    auto without = place.environment();
    without.emplace_back("PATH", place.path());
    child_process run{demo(), without};
    EXPECT_EQ(run.wait(patience), 69);
    EXPECT_NE(run.errors().find("apt-get install redis-server"), std::string::npos) << run.errors();
    EXPECT_TRUE(place.empty());
}

// The server and the four services of the first round are running and busy.
class demo_in_progress : public ::testing::Test {
  protected:
    demo_in_progress() : run_{demo({"--requests", "2000000", "--stock", "1000000"}), place_.environment()} {
        started_ = eventually(patience, [this] {
            children_ = children_of(run_.pid());
            return children_.size() == 5;
        });
    }

    own_temp_folder place_;
    child_process run_;
    std::vector<pid_t> children_;
    bool started_ = false;
};

TEST_F(demo_in_progress, leaves_nothing_behind_when_interrupted) {
    ASSERT_TRUE(started_) << run_.errors() << run_.output();
    run_.signal(SIGINT);
    EXPECT_EQ(run_.wait(patience), 128 + SIGINT);
    EXPECT_TRUE(all_gone(children_));
    EXPECT_TRUE(place_.empty());
    EXPECT_TRUE(processes_that_mention(place_.path()).empty());
}

TEST_F(demo_in_progress, ends_its_processes_when_killed) {
    ASSERT_TRUE(started_) << run_.errors() << run_.output();
    run_.kill();
    EXPECT_TRUE(eventually(patience, [this] { return all_gone(children_); }));
    EXPECT_TRUE(processes_that_mention(place_.path()).empty());
}

TEST_F(demo_in_progress, reports_a_service_that_dies) {
    ASSERT_TRUE(started_) << run_.errors() << run_.output();
    send_signal(children_.back(), SIGKILL);
    EXPECT_EQ(run_.wait(patience), 70);
    EXPECT_NE(run_.errors().find("was killed by signal 9"), std::string::npos) << run_.errors();
    EXPECT_TRUE(all_gone(children_));
    EXPECT_TRUE(place_.empty());
}

}  // namespace
}  // namespace holdfast::test::cli
