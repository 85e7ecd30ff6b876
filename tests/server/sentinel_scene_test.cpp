// sentinel_scene follows the sentinels' decisions, also those that no test has ordered.
#include "support/sentinel_scene.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::test {
namespace {

std::string role_of(redis_server& server) { return server.command({"ROLE"}).items.at(0).text; }

void expect_one_master(sentinel_scene& scene) {
    for (std::size_t i = 0; i < scene.servers; ++i)
        EXPECT_EQ(role_of(scene.server(i)), i == scene.master_index() ? "master" : "slave") << i;
    for (std::size_t i = 0; i < scene.sentinels; ++i) {
        const auto named = scene.sentinel(i).command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", scene.name});
        EXPECT_EQ("127.0.0.1:" + named.items.at(1).text, scene.address(scene.master_index())) << i;
    }
}

TEST(sentinel_scene, heals_while_the_sentinels_change_the_master) {
    sentinel_scene scene;
    const auto before = scene.master_index();
    // Sentinels on a busy machine may abandon a failover.
    EXPECT_TRUE(eventually(patience, [&] {
        scene.begin_fail_over();
        scene.heal();
        expect_one_master(scene);
        return scene.master_index() != before;
    }));
}

TEST(sentinel_scene, an_ordered_failover_ends_with_one_master) {
    sentinel_scene scene;
    const auto before = scene.master_index();
    scene.fail_over();
    EXPECT_NE(scene.master_index(), before);
    scene.heal();
    expect_one_master(scene);
}

}  // namespace
}  // namespace holdfast::test
