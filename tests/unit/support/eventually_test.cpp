#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

TEST(eventually, ends_as_soon_as_the_predicate_holds) {
    int calls = 0;
    EXPECT_TRUE(eventually(patience, [&] { return ++calls == 3; }));
    EXPECT_EQ(calls, 3);
}

TEST(eventually, is_false_when_the_limit_passes) {
    EXPECT_FALSE(eventually(1ms, [] { return false; }));
}

TEST(temp_dir, is_removed_with_its_content) {
    std::filesystem::path path;
    {
        const temp_dir directory;
        path = directory.path();
        std::ofstream{path / "file"} << "text";
        EXPECT_TRUE(std::filesystem::exists(path / "file"));
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(count_threads, counts_a_new_thread) {
    const auto before = count_threads();
    std::thread other{[&] { EXPECT_GT(count_threads(), before); }};
    other.join();
}

}  // namespace
}  // namespace holdfast::test
