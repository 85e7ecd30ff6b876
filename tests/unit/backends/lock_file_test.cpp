// An open lock file: what a try to lock it finds.
#include "backends/file/lock_file.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>

namespace holdfast::file_backend {
namespace {

class lock_files : public ::testing::Test {
  protected:
    [[nodiscard]] std::string path(const char* name) const { return (folder.path() / name).string(); }
    [[nodiscard]] lock_file open(const char* name) const {
        return lock_file::open(path(name), children::let_go, lock_file::missing::make);
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

}  // namespace
}  // namespace holdfast::file_backend
