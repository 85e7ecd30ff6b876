// Slots as a real server counts them.
#include "backends/redis/wire/keys.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace holdfast::redis_backend {
namespace {

TEST(slots, are_those_of_the_server) {
    test::redis_server server{{.config = {"cluster-enabled yes"}}};
    std::mt19937 random{7};
    constexpr std::string_view often{"{}{}ab:\0", 8};
    for (int i = 0; i < 1'000; ++i) {
        std::string name(1 + random() % 12, '\0');
        for (auto& c : name)
            c = random() % 3 == 0 ? static_cast<char>(random()) : often[random() % often.size()];
        for (const auto& key : {name, helper_key('q', name), helper_key('f', name)}) {
            ASSERT_EQ(server.command({"CLUSTER", "KEYSLOT", key}).number, slot_of(key)) << key;
        }
    }
}

}  // namespace
}  // namespace holdfast::redis_backend
