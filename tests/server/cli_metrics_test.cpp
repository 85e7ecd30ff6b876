// `holdfast run --metrics-file`: what a collector reads after a run.
#include "server/cli_run_scene.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace holdfast::test::cli {
namespace {

namespace fs = std::filesystem;

class run_metrics : public run_command {
  protected:
    [[nodiscard]] double metric(const std::string& name, const std::string& lock = "a") const {
        std::ifstream in{file};
        const std::string text{std::istreambuf_iterator<char>{in}, {}};
        const auto series = "\n" + name + "{lock=\"" + lock + "\"} ";
        const auto at = text.find(series);
        if (at == std::string::npos) {
            ADD_FAILURE() << name << " is not in\n" << text;
            return -1;
        }
        return std::stod(text.substr(at + series.size()));
    }
    outcome measured(std::vector<std::string> words) const {
        words.insert(words.begin(), {"run", "--metrics-file", file});
        return run(words);
    }

    const temp_dir folder;
    const std::string file = (folder.path() / "a.prom").string();
};

TEST_F(run_metrics, say_how_the_run_went) {
    EXPECT_EQ(measured({"a", "--", "sleep", "0.2"}).code, 0);
    EXPECT_EQ(metric("holdfast_run_exit_code"), 0);
    EXPECT_GE(metric("holdfast_run_duration_seconds"), 0.2);
    EXPECT_GE(metric("holdfast_run_wait_seconds"), 0);
    const auto success = metric("holdfast_run_last_success_timestamp_seconds");
    EXPECT_GT(success, 1.7e9);
    EXPECT_EQ(measured({"a", "--", "sh", "-c", "exit 3"}).code, 3);
    EXPECT_EQ(metric("holdfast_run_exit_code"), 3);
    EXPECT_EQ(metric("holdfast_run_last_success_timestamp_seconds"), success) << "of the run before";
    EXPECT_GT(metric("holdfast_run_last_end_timestamp_seconds"), success);
    EXPECT_EQ(std::distance(fs::directory_iterator{folder.path()}, {}), 1) << "nothing else is left there";
}

TEST_F(run_metrics, are_written_where_the_command_was_not_run) {
    hold_as_another_client("a");
    EXPECT_EQ(measured({"-n", "a", "--", "true"}).code, 1);
    EXPECT_EQ(metric("holdfast_run_exit_code"), 1);
    EXPECT_EQ(metric("holdfast_run_duration_seconds"), 0);
    EXPECT_EQ(metric("holdfast_run_last_success_timestamp_seconds"), 0);
    EXPECT_EQ(measured({"-n", "--url", "redis://127.0.0.1:1", "a", "--", "true"}).code, 69);
    EXPECT_EQ(metric("holdfast_run_exit_code"), 69);
}

// The lock was busy, and -E 0 only says that this is well.
TEST_F(run_metrics, do_not_take_a_busy_lock_for_a_success) {
    hold_as_another_client("a");
    EXPECT_EQ(measured({"-n", "-E", "0", "a", "--", "true"}).code, 0);
    EXPECT_EQ(metric("holdfast_run_last_success_timestamp_seconds"), 0);
}

TEST_F(run_metrics, replace_the_file_behind_a_link) {
    const auto behind = folder.path() / "behind.prom";
    fs::create_symlink("behind.prom", file);
    EXPECT_EQ(measured({"a", "--", "true"}).code, 0);
    EXPECT_TRUE(fs::is_symlink(file));
    EXPECT_TRUE(fs::is_regular_file(behind));
    EXPECT_EQ(metric("holdfast_run_exit_code"), 0);
    fs::remove(file);
    fs::create_symlink("/dev/null", file);
    EXPECT_NE(measured({"a", "--", "true"}).code, 0);
    EXPECT_TRUE(fs::is_symlink(file));
}

TEST_F(run_metrics, several_locks_are_one_label) {
    EXPECT_EQ(measured({"b", "a\"c", "--", "true"}).code, 0);
    EXPECT_EQ(metric("holdfast_run_exit_code", "b,a\\\"c"), 0);
}

TEST_F(run_metrics, duration_is_that_of_the_command) {
    EXPECT_EQ(measured({"--at-least", "1s", "a", "--", "true"}).code, 0);
    EXPECT_LT(metric("holdfast_run_duration_seconds"), 1.0);
}

TEST_F(run_metrics, success_of_a_lock_with_an_odd_name_is_kept) {
    EXPECT_EQ(measured({"a} b", "--", "true"}).code, 0);
    const auto success = metric("holdfast_run_last_success_timestamp_seconds", "a} b");
    EXPECT_EQ(measured({"a} b", "--", "false"}).code, 1);
    EXPECT_EQ(metric("holdfast_run_last_success_timestamp_seconds", "a} b"), success);
}

// Its alert would stay silent.
TEST_F(run_metrics, success_with_another_lock_counts_for_nothing) {
    EXPECT_EQ(measured({"a", "--", "true"}).code, 0);
    EXPECT_EQ(measured({"b", "--", "false"}).code, 1);
    EXPECT_EQ(metric("holdfast_run_last_success_timestamp_seconds", "b"), 0);
}

TEST_F(run_metrics, name_that_is_no_text_is_shown_as_text) {
    EXPECT_EQ(measured({"a\xff", "--", "true"}).code, 0);
    child_process tool{{"/bin/sh", "-c", "promtool check metrics < '" + file + "' 2>&1"}};
    EXPECT_EQ(tool.wait(patience), 0) << tool.output();
}

TEST_F(run_metrics, promtool_finds_no_fault) {
    EXPECT_EQ(measured({"a", "--", "true"}).code, 0);
    child_process tool{{"/bin/sh", "-c", "promtool check metrics < '" + file + "' 2>&1"}};
    EXPECT_EQ(tool.wait(patience), 0);
    EXPECT_EQ(tool.output(), "");
}

// Not after an hour of work.
TEST_F(run_metrics, file_that_cannot_be_written_is_refused_before_the_run) {
    const auto ran = (folder.path() / "ran").string();
    for (const std::string& bad : words{folder.path() / "none" / "a.prom", folder.path(), ""}) {
        const auto end = run({"run", "--metrics-file", bad, "a", "--", "touch", ran});
        EXPECT_EQ(end.code, 64);
        EXPECT_NE(end.errors.find(bad), std::string::npos) << end.errors;
        EXPECT_FALSE(fs::exists(ran));
    }
    EXPECT_EQ(std::distance(fs::directory_iterator{folder.path()}, {}), 0);
}

}  // namespace
}  // namespace holdfast::test::cli
