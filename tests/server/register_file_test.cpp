// Registers in files.
#include "server/file_scene.hpp"
#include "server/register_scene.hpp"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class file_registers : public file_locks {
  protected:
    [[nodiscard]] std::string url() const { return "file:" + directory; }
    [[nodiscard]] std::string its_file() const { return path_of(".holdfast/mode.register"); }
    register_value write(std::uint64_t expected, const std::string& text) {
        return value_in(one.change(expected, text)).value_or(register_value{});
    }
    register_client one{url(), 500ms};
};

TEST_F(file_registers, are_for_their_owner_only) {
    const mode_t mask = ::umask(0);
    (void)write(write(0, "R").version, "F");
    ::umask(mask);
    EXPECT_EQ(mode_of(path_of(".holdfast")), 0700U);
    EXPECT_EQ(mode_of(its_file()), 0600U);
}

TEST_F(file_registers, hold_what_they_held_when_a_writer_was_killed) {
    const auto written = write(0, "R");
    const auto left = its_file() + ".new";
    std::ofstream{left} << "holdfast reg";
    EXPECT_EQ(value_in(one.read()), written);
    EXPECT_EQ(write(written.version, "F").text, "F");
    EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(file_registers, give_no_answer_from_a_damaged_file) {
    const auto written = write(0, "R");
    for (const std::string& damaged : {std::string{}, std::string{"holdfast register 12 5\nRF"},
                                       std::string{"holdfast register 12 1\nRF"}, std::string{"RF"}}) {
        std::ofstream{its_file()} << damaged;
        EXPECT_EQ(failure_in(one.read()), errc::wrong_kind) << damaged;
        EXPECT_EQ(failure_in(one.read(written)), errc::wrong_kind) << damaged;
        EXPECT_EQ(failure_in(one.change(written.version, "F")), errc::wrong_kind) << damaged;
        EXPECT_EQ(failure_in(one.change(0, "F")), errc::wrong_kind) << damaged;
    }
}

TEST_F(file_registers, follow_no_link_and_wait_for_no_pipe) {
    const auto written = write(0, "R");
    const auto elsewhere = path_of("elsewhere");
    std::filesystem::rename(its_file(), elsewhere);
    std::filesystem::create_symlink(elsewhere, its_file());
    EXPECT_EQ(failure_in(one.read()), errc::wrong_kind);
    std::filesystem::remove(its_file());
    ASSERT_EQ(::mkfifo(its_file().c_str(), 0600), 0);
    EXPECT_EQ(failure_in(one.read()), errc::wrong_kind);
    EXPECT_EQ(failure_in(one.change(written.version, "F")), errc::wrong_kind);
}

// Such as one that was stopped in the middle of a change.
TEST_F(file_registers, are_read_but_not_changed_while_another_process_has_its_turn) {
    const auto written = write(0, "R");
    const unique_fd turn{::open(path_of(".holdfast").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    ASSERT_EQ(::flock(turn.get(), LOCK_EX), 0);
    EXPECT_EQ(value_in(one.read()), written);
    EXPECT_EQ(failure_in(one.change(written.version, "F")), errc::busy_server);
    register_client patient{url()};
    auto later = patient.ask_to_change(written.version, "RF");
    EXPECT_FALSE(later.is_answered());
    ::flock(turn.get(), LOCK_UN);
    EXPECT_EQ(value_in(later.get()).value_or(register_value{}).text, "RF");
}

TEST_F(file_registers, are_gone_with_their_directory_and_their_versions_do_not_come_back) {
    const auto old = write(0, "R");
    std::filesystem::remove_all(directory);
    EXPECT_TRUE(failure_in(one.read(old))) << "this is no register that nobody has written";
    EXPECT_TRUE(failure_in(one.change(0, "F")));
    std::filesystem::create_directory(directory);
    EXPECT_EQ(value_in(one.read(old)), register_value{});
    const auto now = write(0, "F");
    EXPECT_NE(now.version, old.version);
    EXPECT_EQ(value_in(one.change(old.version, "RF")), now);
}

}  // namespace
}  // namespace holdfast::test
