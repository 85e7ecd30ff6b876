// Readings of the kernel's table of locks, between which other locks come and go.
#include "backends/file/kernel_locks.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace holdfast::file_backend {
namespace {

constexpr file_id ours{.major = 1, .minor = 2, .inode = 3};

std::size_t holders(const lock_table& in) {
    const auto it = in.find(ours);
    return it == in.end() ? 0 : it->second.held.size();
}

// The holders that the caller finds after readings with so many.
std::optional<std::size_t> found_after(const std::vector<std::size_t>& readings, bool in_one = false) {
    std::size_t next = 0;
    const auto table =
        read_lock_table([](const lock_table& a, const lock_table& b) { return holders(a) == holders(b); },
                        [&]() -> std::optional<reading> {
                            if (next == readings.size()) return std::nullopt;
                            reading one{.table = {}, .in_one = in_one};
                            one.table[ours].held.resize(readings[next++]);
                            return one;
                        });
    if (!table) return std::nullopt;
    return holders(*table);
}

TEST(kernel_locks, are_read_until_two_readings_agree) {
    EXPECT_EQ(found_after({2, 1, 1}), 1U);
    EXPECT_EQ(found_after({1, 0, 2, 1, 1}), 1U);
}

TEST(kernel_locks, are_read_once_if_the_kernel_gives_the_table_in_one) {
    EXPECT_EQ(found_after({1, 2, 2}, true), 1U);
}

TEST(kernel_locks, are_those_of_the_last_reading_if_none_agree) {
    EXPECT_EQ(found_after({1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 1}), 2U);
}

TEST(kernel_locks, are_unknown_if_the_table_cannot_be_read) { EXPECT_EQ(found_after({2}), std::nullopt); }

}  // namespace
}  // namespace holdfast::file_backend
