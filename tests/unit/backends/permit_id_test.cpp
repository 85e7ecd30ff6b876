#include "backends/redis/wire/permit_id.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis_backend {
namespace {

TEST(PermitId, holds_its_client_and_time) {
    const permit_id id{"abcdef", 1'790'000'000'123'456};
    const auto bytes = id.bytes();
    EXPECT_EQ(bytes.size(), permit_id::size);
    const auto read = permit_id::read(bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->client, "abcdef");
    EXPECT_EQ(read->serial, id.serial);
}

TEST(PermitId, following_numbers_hold_the_same_client_and_time) {
    auto bytes = permit_id{"abcdef", 1'790'000'000'123'456}.bytes();
    for (int i = 0; i < 999; ++i)
        for (auto digit = bytes.rbegin(); digit != bytes.rend() && ++*digit == 0; ++digit) {
        }
    const auto last = permit_id::read(bytes);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->client, "abcdef");
    EXPECT_EQ(last->serial, 1'790'000'000'123'456);
}

TEST(PermitId, foreign_ids_are_not_read) {
    EXPECT_FALSE(permit_id::read(""));
    EXPECT_FALSE(permit_id::read("abcdefhf"));
    EXPECT_FALSE(permit_id::read("0123456789abcdef"));
    EXPECT_FALSE(permit_id::read(permit_id{"abcdef", 1}.bytes() + "x"));
}

}  // namespace
}  // namespace holdfast::redis_backend
