#include "base/random.hpp"

#include <gtest/gtest.h>

#include <set>

namespace holdfast::base {
namespace {

TEST(client_id, uuid_and_base64url_spell_the_same_bits) {
    for (int i = 0; i < 1'000; ++i) {
        const auto id = client_id::make();
        EXPECT_EQ(client_id::base64url_of_uuid(id.uuid()), id.base64url());
    }
}

TEST(client_id, is_a_version_4_uuid_as_redisson_writes_it) {
    const auto uuid = client_id::make().uuid();
    ASSERT_EQ(uuid.size(), 36U);
    EXPECT_EQ(uuid.find_first_not_of("0123456789abcdef-"), std::string::npos);
    for (const std::size_t dash : {8U, 13U, 18U, 23U}) EXPECT_EQ(uuid[dash], '-');
    EXPECT_EQ(uuid[14], '4');
    EXPECT_NE(std::string_view{"89ab"}.find(uuid[19]), std::string_view::npos);
}

TEST(client_id, base64url_has_22_characters_that_need_no_escape) {
    const auto text = client_id::make().base64url();
    EXPECT_EQ(text.size(), 22U);
    EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
              std::string::npos);
}

TEST(client_id, base64url_of_known_uuids_is_right) {
    EXPECT_EQ(client_id::base64url_of_uuid("00000000-0000-0000-0000-000000000000"), "AAAAAAAAAAAAAAAAAAAAAA");
    EXPECT_EQ(client_id::base64url_of_uuid("ffffffff-ffff-ffff-ffff-ffffffffffff"), "_____________________w");
    EXPECT_EQ(client_id::base64url_of_uuid("123e4567-e89b-42d3-a456-426614174000"), "Ej5FZ-ibQtOkVkJmFBdAAA");
}

TEST(client_id, base64url_of_an_invalid_uuid_is_empty) {
    for (const std::string_view text :
         {"", "00000000-0000-0000-0000-00000000000", "00000000-0000-0000-0000-0000000000000",
          "00000000_0000-0000-0000-000000000000", "0000000g-0000-0000-0000-000000000000",
          "00000000-0000-0000-0000-00000000000-", "0000000000000000000000000000000000000"}) {
        EXPECT_EQ(client_id::base64url_of_uuid(text), "") << text;
    }
}

TEST(client_id, is_unique) {
    std::set<std::string> seen;
    for (int i = 0; i < 1'000; ++i) EXPECT_TRUE(seen.insert(client_id::make().uuid()).second);
}

TEST(jitter, covers_its_range) {
    double least = 1;
    double most = 0;
    for (int i = 0; i < 10'000; ++i) {
        const auto x = jitter();
        least = std::min(least, x);
        most = std::max(most, x);
    }
    EXPECT_GE(least, 0.0);
    EXPECT_LT(most, 1.0);
    EXPECT_LT(least, 0.05);
    EXPECT_GT(most, 0.95);
}

}  // namespace
}  // namespace holdfast::base
