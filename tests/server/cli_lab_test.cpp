// `holdfast lab` makes each flaw happen, shows its cure, and leaves nothing behind.
#include "cli_show.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test::cli {
namespace {

std::vector<std::string> lab(const std::vector<std::string>& more = {}) { return command_line("lab", more); }

void expect_as_predicted(const std::string& rung) {
    const own_temp_folder place;
    child_process run{lab({rung, "--json"}), place.environment()};
    const auto code = run.wait(patience);
    ASSERT_EQ(code, 0) << run.errors() << run.output();
    // Sanitizers report the stack overflow that bronze is meant to cause.
    if (run.errors().find("stack-overflow") == std::string::npos) {
        EXPECT_EQ(run.errors(), "");
    }
    const auto report = nlohmann::json::parse(run.output());
    ASSERT_EQ(report.at("rungs").size(), 1U);
    EXPECT_EQ(report["as_predicted"], true);
    for (const auto& schedule : report["rungs"][0].at("schedules")) {
        for (const auto& play : schedule.at("plays")) {
            EXPECT_EQ(play.at("as_predicted"), 1) << play;
            EXPECT_EQ(play.at("flaw_seen").get<bool>(), play.at("role") == "flawed") << play;
            EXPECT_FALSE(play.at("events").empty());
            // If clocks jump, holdfast promises only that the fence keeps late writes away.
            if ((play.at("role") == "holdfast" || play.at("role") == "joint") &&
                schedule.at("schedule") != "clock") {
                EXPECT_TRUE(play.at("overlaps").empty()) << play;
            }
        }
    }
    EXPECT_TRUE(place.empty());
}

TEST(cli_lab, bronze_goes_as_predicted) { expect_as_predicted("bronze"); }
TEST(cli_lab, silver_goes_as_predicted) { expect_as_predicted("silver"); }
TEST(cli_lab, gold_goes_as_predicted) { expect_as_predicted("gold"); }
TEST(cli_lab, platinum_goes_as_predicted) { expect_as_predicted("platinum"); }
TEST(cli_lab, diamond_goes_as_predicted) { expect_as_predicted("diamond"); }
TEST(cli_lab, counter_goes_as_predicted) { expect_as_predicted("counter"); }
TEST(cli_lab, counter_lua_goes_as_predicted) { expect_as_predicted("counter_lua"); }
TEST(cli_lab, redisson_goes_as_predicted) { expect_as_predicted("redisson"); }
TEST(cli_lab, replica_goes_as_predicted) { expect_as_predicted("replica"); }
TEST(cli_lab, multilock_goes_as_predicted) { expect_as_predicted("multilock"); }
TEST(cli_lab, redlock_goes_as_predicted) { expect_as_predicted("redlock"); }
TEST(cli_lab, fallback_goes_as_predicted) { expect_as_predicted("fallback"); }
TEST(cli_lab, table_goes_as_predicted) { expect_as_predicted("table"); }
TEST(cli_lab, holdfast_goes_as_predicted) { expect_as_predicted("holdfast"); }

TEST(cli_lab, says_that_its_mode_lease_is_shorter_than_the_default) {
    const own_temp_folder place;
    child_process run{lab({"fallback", "--on", "holdfast_joint", "--json"}), place.environment()};
    ASSERT_EQ(run.wait(patience), 0) << run.errors();
    const auto report = nlohmann::json::parse(run.output());
    std::set<std::string> changed;
    for (const auto& schedule : report["rungs"][0]["schedules"]) {
        for (const auto& seen : schedule["plays"][0]["events"])
            if (seen["text"].get<std::string>().find("here, 20s by default") != std::string::npos)
                changed.insert(schedule["schedule"]);
    }
    EXPECT_EQ(changed, (std::set<std::string>{"cut_off", "no_redis", "split", "stale_mode"}));
    EXPECT_TRUE(place.empty());
}

TEST(cli_lab, lists_the_rungs) {
    const own_temp_folder place;
    child_process run{lab(), place.environment()};
    ASSERT_EQ(run.wait(patience), 0);
    for (const auto* const name : {"bronze", "silver", "gold", "platinum", "diamond", "counter", "redisson",
                                   "multilock", "redlock", "fallback", "table", "holdfast"})
        EXPECT_NE(("\n" + run.output()).find("\n" + std::string{name} + " "), std::string::npos)
            << name << run.output();
}

TEST(cli_lab, lists_the_rungs_as_json) {
    const own_temp_folder place;
    child_process run{lab({"--json"}), place.environment()};
    ASSERT_EQ(run.wait(patience), 0);
    EXPECT_EQ(nlohmann::json::parse(run.output()).at("rungs").at(0).at("rung"), "bronze");
}

std::string content_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

TEST(cli_lab, writes_a_self_contained_page) {
    const own_temp_folder place;
    const temp_dir out;
    const auto file = (out.path() / "a page.html").string();
    child_process run{lab({"gold", "--html", file}), place.environment()};
    ASSERT_EQ(run.wait(patience), 0) << run.errors();
    EXPECT_NE(run.output().find(file), std::string::npos) << run.output();
    const auto page = content_of(file);
    EXPECT_TRUE(page.starts_with("<!doctype html>"));
    EXPECT_NE(page.find("id=\"rung-gold\""), std::string::npos);
    EXPECT_NE(page.find("class=\"contested\""), std::string::npos);
    for (const auto* const other : {"<script", "http:", "https:", "src=", "@import"})
        EXPECT_EQ(page.find(other), std::string::npos) << other;
    EXPECT_TRUE(place.empty());
}

TEST(cli_lab, writes_the_page_to_standard_output) {
    const own_temp_folder place;
    child_process run{lab({"gold", "--html", "-", "--lang", "zh"}), place.environment()};
    ASSERT_EQ(run.wait(patience), 0) << run.errors();
    EXPECT_TRUE(run.output().starts_with("<!doctype html>")) << run.output().substr(0, 200);
    EXPECT_NE(run.output().find("lang=\"zh-CN\""), std::string::npos);
}

TEST(cli_lab, rejects_an_unwritable_file_before_it_plays) {
    const own_temp_folder place;
    child_process run{lab({"--all", "--html", "/nonexistent/page.html"}), place.environment()};
    EXPECT_EQ(run.wait(patience), 64);
    EXPECT_NE(run.errors().find("/nonexistent/page.html"), std::string::npos) << run.errors();
}

TEST(cli_lab, reports_a_full_disk) {
    const own_temp_folder place;
    for (const auto* const what : {"lab", "lab --json", "lab gold", "--help"}) {
        child_process run{{"sh", "-c", std::string{"exec \"$0\" "} + what + " > /dev/full", HOLDFAST_COMMAND},
                          place.environment()};
        EXPECT_EQ(run.wait(patience), 74) << what;
        EXPECT_NE(run.errors().find("cannot be written"), std::string::npos) << what << run.errors();
    }
    EXPECT_TRUE(place.empty());
}

TEST(cli_lab, rejects_a_page_without_a_rung) {
    const own_temp_folder place;
    child_process run{lab({"--html", "page.html"}), place.environment()};
    EXPECT_EQ(run.wait(patience), 64);
    EXPECT_NE(run.errors().find("--all"), std::string::npos) << run.errors();
}

TEST(cli_lab, prints_plain_lines_without_a_terminal) {
    const own_temp_folder place;
    child_process run{lab({"platinum"}), place.environment()};
    ASSERT_EQ(run.wait(patience), 0) << run.errors();
    for (const char c : {'\x1b', '\r', '\x80', '\xe2'}) EXPECT_EQ(run.output().find(c), std::string::npos);
    EXPECT_NE(run.output().find("Flaw seen."), std::string::npos) << run.output();
    EXPECT_NE(run.output().find("Cured."), std::string::npos) << run.output();
    EXPECT_NE(run.output().find("XXX"), std::string::npos) << run.output();
}

TEST(cli_lab, reports_that_a_flaw_is_not_seen) {
    // Diamond has what gold lacks, so gold's schedule must not succeed on it.
    const own_temp_folder place;
    child_process run{lab({"gold", "--on", "diamond"}), place.environment()};
    EXPECT_EQ(run.wait(patience), 0) << run.errors();
    EXPECT_NE(run.output().find("The flaw is not seen."), std::string::npos) << run.output();
}

TEST(cli_lab, plays_on_any_scheme_and_reports_what_it_cannot_play) {
    const own_temp_folder place;
    child_process run{lab({"counter_lua", "--on", "table_clock", "--json"}), place.environment()};
    EXPECT_EQ(run.wait(patience), 0) << run.errors();
    const auto schedules = nlohmann::json::parse(run.output())["rungs"][0]["schedules"];
    EXPECT_FALSE(schedules[0]["plays"][0].contains("broken")) << schedules[0];
    EXPECT_NE(schedules[1]["plays"][0]["broken"].get<std::string>().find("no Redis"), std::string::npos)
        << schedules[1];
    EXPECT_TRUE(place.empty());
}

// A failure shows neither a flaw nor its absence.
TEST(cli_lab, draws_no_conclusion_from_processes_that_fail) {
    const own_temp_folder place;
    child_process run{lab({"--all", "--on", "nothing", "--json"}), place.environment()};
    EXPECT_EQ(run.wait(patience), 0) << run.errors();
    const auto report = nlohmann::json::parse(run.output());
    for (const auto& rung : report["rungs"]) {
        for (const auto& schedule : rung["schedules"]) {
            const auto& play = schedule["plays"][0];
            EXPECT_FALSE(play["flaw_seen"].get<bool>()) << schedule["schedule"];
            // fallback expects a failure without Redis.
            if (rung["rung"] == "fallback") continue;
            EXPECT_TRUE(play.contains("broken")) << rung["rung"] << ' ' << schedule["schedule"];
        }
    }
}

TEST(cli_lab, lists_in_chinese_what_could_not_be_played) {
    const own_temp_folder place;
    child_process run{lab({"--all", "--on", "nothing", "--lang", "zh"}), place.environment()};
    EXPECT_EQ(run.wait(patience), 0) << run.errors();
    EXPECT_EQ(run.output().find("as predicted"), std::string::npos) << run.output();
    EXPECT_NE(run.output().find("\u65e0\u6cd5\u8fd9\u6837\u6f14\u793a\uff1a"), std::string::npos)
        << run.output();
}

TEST(cli_lab, plays_in_a_folder_with_an_odd_name) {
    const own_temp_folder place;
    const temp_dir around;
    const auto odd = around.path() / "a b:c?d%20";
    fs::create_directory(odd);
    const child_process::environment there{{"TMPDIR", odd.string()}, {"NO_COLOR", "1"}};
    for (const auto* const rung : {"redlock", "replica", "fallback"}) {
        child_process run{lab({rung}), there};
        EXPECT_EQ(run.wait(patience), 0) << run.output() << run.errors();
    }
    EXPECT_TRUE(fs::is_empty(odd));
}

TEST(cli_lab, can_be_interrupted_while_a_server_starts) {
    const own_temp_folder place;
    const temp_dir programs;
    const auto fake = programs.path() / "redis-server";
    std::ofstream{fake} << "#!/bin/sh\nexec sleep 1000\n";
    fs::permissions(fake, fs::perms::owner_all);
    auto with = place.environment();
    with.emplace_back("PATH", programs.path().string() + ":/usr/bin:/bin");
    child_process run{lab({"gold"}), with};
    ASSERT_TRUE(eventually(patience, [&] { return !children_of(run.pid()).empty(); }));
    run.signal(SIGINT);
    EXPECT_EQ(run.wait(patience), 128 + SIGINT) << run.errors();
    EXPECT_TRUE(place.empty());
}

TEST(cli_lab, plays_a_schedule_on_another_scheme) {
    // Bronze never sets a TTL, so it shows silver's flaw too.
    const own_temp_folder place;
    child_process run{lab({"silver", "--on", "bronze", "--json"}), place.environment()};
    EXPECT_EQ(run.wait(patience), 0) << run.errors();
    EXPECT_EQ(nlohmann::json::parse(run.output())["rungs"][0]["schedules"][0]["plays"][0]["flaw_seen"], true);
}

TEST(cli_lab, lists_the_rungs_if_the_name_is_unknown) {
    const own_temp_folder place;
    child_process run{lab({"wood"}), place.environment()};
    EXPECT_EQ(run.wait(patience), 64);
    EXPECT_NE(run.errors().find("bronze, silver, gold"), std::string::npos) << run.errors();
}

TEST(cli_lab, lists_the_schemes_if_the_name_is_unknown) {
    const own_temp_folder place;
    child_process run{lab({"gold", "--on", "wood"}), place.environment()};
    EXPECT_EQ(run.wait(patience), 64);
    EXPECT_NE(run.errors().find("counter_lua, redisson"), std::string::npos) << run.errors();
}

TEST(cli_lab, names_the_package_to_install_without_redis_server) {
    const own_temp_folder place;
    auto without = place.environment();
    without.emplace_back("PATH", place.path());
    child_process run{lab({"gold"}), without};
    EXPECT_EQ(run.wait(patience), 69);
    EXPECT_NE(run.errors().find("apt-get install redis-server"), std::string::npos) << run.errors();
    EXPECT_TRUE(place.empty());
}

TEST(cli_lab, runs_beside_another_lab) {
    const own_temp_folder place;
    child_process one{lab({"gold", "--json"}), place.environment()};
    child_process other{lab({"gold", "--json"}), place.environment()};
    EXPECT_EQ(one.wait(patience), 0) << one.errors();
    EXPECT_EQ(other.wait(patience), 0) << other.errors();
    EXPECT_TRUE(place.empty());
}

// The server and at least two processes of a schedule run, one of them stopped for much of the time.
class lab_in_progress : public ::testing::Test {
  protected:
    lab_in_progress() : run_{lab({"gold", "--runs", "1000", "--html", page_}), place_.environment()} {
        started_ = eventually(patience, [this] {
            children_ = children_of(run_.pid());
            return children_.size() >= 3;
        });
    }

    own_temp_folder place_;
    temp_dir out_;
    std::string page_ = (out_.path() / "page.html").string();
    child_process run_;
    std::vector<pid_t> children_;
    bool started_ = false;
};

TEST_F(lab_in_progress, leaves_nothing_behind_when_interrupted) {
    ASSERT_TRUE(started_) << run_.errors() << run_.output();
    run_.signal(SIGINT);
    EXPECT_EQ(run_.wait(patience), 128 + SIGINT);
    EXPECT_TRUE(all_gone(children_));
    EXPECT_TRUE(place_.empty());
    EXPECT_FALSE(fs::exists(page_));
    EXPECT_TRUE(processes_that_mention(place_.path()).empty());
}

TEST_F(lab_in_progress, ends_its_processes_when_killed) {
    ASSERT_TRUE(started_) << run_.errors() << run_.output();
    run_.kill();
    EXPECT_TRUE(eventually(patience, [this] { return all_gone(children_); }));
    EXPECT_TRUE(processes_that_mention(place_.path()).empty());
}

}  // namespace
}  // namespace holdfast::test::cli
