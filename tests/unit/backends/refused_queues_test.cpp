#include "backends/redis/kinds/refused_queues.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis_backend {
namespace {

using namespace std::chrono_literals;

TEST(refused_queues, are_remembered_per_name_for_a_limited_time) {
    refused_queues all;
    const refused_queues::time_point now{100s};
    EXPECT_FALSE(all.has("a", now));
    all.add("a", now);
    EXPECT_TRUE(all.has("a", now + refused_queues::believed_for - 1ms));
    EXPECT_FALSE(all.has("b", now));
    EXPECT_FALSE(all.has("a", now + refused_queues::believed_for));
    EXPECT_FALSE(all.has("a", now)) << "an expired entry is removed";
    all.add("a", now);
    EXPECT_TRUE(all.has("a", now));
}

TEST(refused_queues, are_limited_in_number) {
    refused_queues all;
    const refused_queues::time_point now{100s};
    for (std::size_t i = 0; i < 3 * refused_queues::most; ++i) {
        all.add(std::to_string(i), now);
        EXPECT_TRUE(all.has(std::to_string(i), now));
    }
    EXPECT_FALSE(all.has("0", now));
}

}  // namespace
}  // namespace holdfast::redis_backend
