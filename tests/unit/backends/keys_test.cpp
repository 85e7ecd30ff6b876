#include "backends/redis/wire/keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

namespace holdfast::redis_backend {
namespace {

using namespace std::string_literals;

// Bytes that matter to hash tags are frequent.
std::string random_name(std::mt19937& random) {
    constexpr std::string_view often{"{}{}ab:\0", 8};
    std::string name(1 + random() % 12, '\0');
    for (auto& c : name) c = random() % 3 == 0 ? static_cast<char>(random()) : often[random() % often.size()];
    return name;
}

TEST(helper_keys, live_in_the_slot_of_the_lock_and_belong_to_one_lock_only) {
    std::mt19937 random{20'260'101};
    std::set<std::string> names;
    while (names.size() < 3'000) names.insert(random_name(random));
    std::set<std::string> keys;
    for (const auto& name : names) {
        for (const char what : {'q', 'f'}) {
            const auto key = helper_key(what, name);
            EXPECT_EQ(slot_of(key), slot_of(name)) << key;
            EXPECT_TRUE(keys.insert(key).second) << key << " is the helper of two locks";
        }
    }
}

TEST(helper_keys, distinguish_names_that_share_a_hash_tag) {
    EXPECT_EQ(helper_key('q', "{x}"), "holdfast:q:{x}");
    EXPECT_EQ(helper_key('q', "x"), "holdfast:q1:{x}");
    EXPECT_EQ(helper_key('q', "a{x}b"), "holdfast:q:a{x}b");
    EXPECT_EQ(helper_key('f', "order:7"), "holdfast:f1:{order:7}");
    EXPECT_EQ(helper_key('q', "a{"), "holdfast:q1:{a{}");
    EXPECT_EQ(helper_key('q', "a}b").substr(0, 13), "holdfast:q2:{");
    EXPECT_TRUE(helper_key('q', "a}b").ends_with("}a}b"));
}

TEST(hash_tags, follow_the_cluster_specification) {
    EXPECT_EQ(hash_tag("user1000"), "user1000");
    EXPECT_EQ(hash_tag("{user1000}.following"), "user1000");
    EXPECT_EQ(hash_tag("foo{}{bar}"), "foo{}{bar}");
    EXPECT_EQ(hash_tag("foo{{bar}}zap"), "{bar");
    EXPECT_EQ(hash_tag("foo{bar}{zap}"), "bar");
    EXPECT_EQ(hash_tag("a}b{c}"), "c");
    EXPECT_EQ(hash_tag("a{b"), "a{b");
    EXPECT_EQ(slot_of("123456789"), 0x31c3);
    EXPECT_EQ(slot_of("foo"), 12182);
}

// redisson-wire.md 1.3: the only question is whether there is a '{' anywhere.
TEST(redisson_channel, has_braces_unless_the_name_has_one) {
    const std::string prefix = "redisson_lock__channel:";
    EXPECT_EQ(redisson_channel("order:7"), prefix + "{order:7}");
    EXPECT_EQ(redisson_channel("a{b}"), prefix + "a{b}");
    EXPECT_EQ(redisson_channel("{tag}x"), prefix + "{tag}x");
    EXPECT_EQ(redisson_channel(R"({"a":1})"), prefix + R"({"a":1})");
    EXPECT_EQ(redisson_channel("a{"), prefix + "a{");
    EXPECT_EQ(redisson_channel("{}x"), prefix + "{}x");
    EXPECT_EQ(redisson_channel("a}b"), prefix + "{a}b}");
    EXPECT_EQ(redisson_channel("a}b{c}"), prefix + "a}b{c}");
}

}  // namespace
}  // namespace holdfast::redis_backend
