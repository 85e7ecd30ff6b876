// Registers in an SQLite database.
#include "server/register_scene.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class sqlite_registers : public ::testing::Test {
  protected:
    register_value write(std::uint64_t expected, const std::string& text) {
        return value_in(one.change(expected, text)).value_or(register_value{});
    }
    // What another program does.
    void run(const char* sql) {
        if (!other) {
            sqlite3* opened = nullptr;
            if (sqlite3_open(file.c_str(), &opened) != SQLITE_OK) throw std::runtime_error{"no database"};
            other.reset(opened);
        }
        if (sqlite3_exec(other.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
            throw std::runtime_error{sqlite3_errmsg(other.get())};
    }

    const temp_dir folder;
    const std::string file = (folder.path() / "locks.db").string();
    register_client one{"sqlite:" + file, 500ms};
    std::unique_ptr<sqlite3, int (*)(sqlite3*)> other{nullptr, sqlite3_close};
};

TEST_F(sqlite_registers, are_read_but_not_changed_while_another_process_writes) {
    const auto written = write(0, "R");
    run("BEGIN IMMEDIATE");
    EXPECT_EQ(value_in(one.read()), written);
    EXPECT_EQ(failure_in(one.change(written.version, "F")), errc::busy_server);
    run("COMMIT");
    EXPECT_EQ(value_in(one.read()), written);
    EXPECT_EQ(write(written.version, "F").text, "F");
}

// So a file needs nothing before, and older versions go on using it.
TEST_F(sqlite_registers, are_in_a_table_that_the_first_change_makes) {
    const char* const is_there = "CREATE TABLE holdfast_registers (x)";
    EXPECT_EQ(value_in(one.read()), register_value{});
    EXPECT_NO_THROW(run("BEGIN")) << "no table yet";
    EXPECT_NO_THROW(run(is_there));
    run("ROLLBACK");
    (void)write(0, "R");
    EXPECT_THROW(run(is_there), std::runtime_error);
}

TEST_F(sqlite_registers, are_gone_with_their_file_and_their_versions_do_not_come_back) {
    const auto old = write(0, "R");
    std::filesystem::remove(file);
    EXPECT_EQ(value_in(one.read(old)), register_value{});
    const auto now = write(0, "F");
    EXPECT_NE(now.version, old.version);
    EXPECT_EQ(value_in(one.change(old.version, "RF")), now);
}

}  // namespace
}  // namespace holdfast::test
