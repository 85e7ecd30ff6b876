// An open lock file: what a try to lock it finds.
#include "backends/file/lock_file.hpp"
#include "support/eventually.hpp"
#include "support/open_files.hpp"
#include "support/unique_fd.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace holdfast::file_backend {
namespace {

class lock_files : public ::testing::Test {
  protected:
    [[nodiscard]] std::string path(const char* name) const { return (folder.path() / name).string(); }
    [[nodiscard]] lock_file open(const char* name) const {
        return lock_file::open(path(name), children::let_go, lock_file::missing::make);
    }

    // As a child has one that was forked while the file was open.
    [[nodiscard]] test::unique_fd copy_of_open(const char* name) const {
        const auto all = test::descriptors_of(path(name));
        return all.empty() ? test::unique_fd{} : test::unique_fd{::dup(all.front())};
    }

    const test::temp_dir folder;
};

TEST_F(lock_files, exclude_each_other_and_still_know_where_they_are) {
    auto first = open("stock");
    auto second = open("stock");
    EXPECT_EQ(first.try_lock(sharing::exclusive), 0);
    EXPECT_EQ(second.try_lock(sharing::shared), EWOULDBLOCK);
    EXPECT_EQ(second.is_in_place(path("stock")), 1);
    first.close();
    EXPECT_EQ(second.try_lock(sharing::shared), 0);
    std::filesystem::remove(path("stock"));
    EXPECT_EQ(second.is_in_place(path("stock")), 0);
}

TEST_F(lock_files, that_were_unlinked_are_not_locked) {
    auto gone = open("stock");
    auto beside = open("stock");
    std::filesystem::remove(path("stock"));
    EXPECT_EQ(gone.try_lock(sharing::exclusive), ESTALE);
    EXPECT_EQ(beside.try_lock(sharing::exclusive), ESTALE) << "and not EWOULDBLOCK: nobody has it";
}

TEST_F(lock_files, that_are_no_regular_files_are_refused_and_left_unlocked) {
    std::filesystem::create_directory(path("folder"));
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    for (const auto* const name : {"folder", "pipe"}) {
        const int expected = std::string{"folder"} == name ? EISDIR : ENXIO;
        auto first = open(name);
        ASSERT_TRUE(first) << name;
        auto second = open(name);
        EXPECT_EQ(first.try_lock(sharing::exclusive), expected) << name;
        EXPECT_EQ(second.try_lock(sharing::exclusive), expected) << name;
        EXPECT_EQ(second.identify(), expected) << name;
    }
}

TEST_F(lock_files, leave_no_marks_when_they_are_closed_while_a_child_has_a_copy) {
    const byte_range mark{std::int64_t{1} << 40, 7};
    for (const bool locked : {true, false}) {  // a waiter has a mark, too
        auto held = open("stock");
        if (locked) {
            EXPECT_EQ(held.try_lock(sharing::exclusive), 0);
        }
        ASSERT_TRUE(held.set_mark(mark));
        const auto copy = copy_of_open("stock");
        ASSERT_TRUE(copy);
        auto other = open("stock");
        EXPECT_EQ(other.mark_of_another(mark), std::optional{mark});
        held.close();
        EXPECT_EQ(other.mark_of_another(mark), std::nullopt);
        EXPECT_EQ(other.try_lock(sharing::exclusive), 0);
    }
}

TEST_F(lock_files, are_freed_with_their_marks_before_they_are_closed) {
    const byte_range mark{std::int64_t{1} << 40, 7};
    auto held = open("stock");
    EXPECT_EQ(held.try_lock(sharing::shared), 0);
    ASSERT_TRUE(held.set_mark(mark));
    auto other = open("stock");
    held.unlock();
    EXPECT_EQ(other.mark_of_another(mark), std::optional{mark}) << "a waiter keeps its mark";
    EXPECT_EQ(held.try_lock(sharing::shared), 0);
    held.free();
    EXPECT_EQ(other.mark_of_another(mark), std::nullopt);
    EXPECT_EQ(other.try_lock(sharing::exclusive), 0);
}

}  // namespace
}  // namespace holdfast::file_backend
