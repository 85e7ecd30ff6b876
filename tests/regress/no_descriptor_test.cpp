// All descriptors of the process are in use: a lock that needs another one fails with an error.
#include "support/no_descriptor.hpp"
#include "server/cluster_world.hpp"
#include "server/scene.hpp"
#include "server/sql_scene.hpp"
#include "support/background.hpp"
#include "support/event_recorder.hpp"
#ifdef HOLDFAST_HAS_POSTGRES
#include "support/postgres_server.hpp"
#endif

#if defined(HOLDFAST_TESTS_WITHOUT_DESCRIPTORS)

namespace holdfast::test {
namespace {

// Whether the lock can be acquired once there are descriptors again.
bool works_again(mutex& m) {
    return eventually(patience, [&] {
        std::error_code ec;
        return static_cast<bool>(m.try_acquire(ec));
    });
}

TEST(no_descriptor_left, acquire_with_replicas_fails_until_there_is_a_descriptor) {
    redis_server server;
    auto how = settings(server.url());
    how.answer_timeout = 500ms * slower;
    client c{how};
    mutex plain{c, "plain"};
    ASSERT_TRUE(plain.try_acquire_for(patience));
    mutex replicated{c, "replicated", {.replicas = {.at_least = 1, .within = 50ms}}};
    {
        const no_descriptor_is_left now;
        EXPECT_EQ(code_of([&] { (void)replicated.try_acquire(); }), condition::try_later);
        EXPECT_TRUE(plain.try_acquire()) << "a lock with a connection goes on";
    }
    EXPECT_TRUE(works_again(plain));
}

TEST(no_descriptor_left, redlock_client_cannot_be_made_until_there_is_a_descriptor) {
    redis_server one;
    redis_server two;
    redis_server three;
    auto how = settings(
        redlock_url({one.url(), two.url(), three.url()}, {.restarts = redlock_options::restarts::trusted}));
    how.answer_timeout = 500ms * slower;
    std::optional<client> c;
    {
        const no_descriptor_is_left now;
        EXPECT_THROW(c.emplace(how), std::system_error);
    }
    c.emplace(how);
    mutex m{*c, "job"};
    EXPECT_TRUE(works_again(m));
}

class no_descriptor_left_in_a_cluster : public cluster_world {};

TEST_F(no_descriptor_left_in_a_cluster, lock_on_an_unconnected_master_is_unavailable_meanwhile) {
    auto how = usual();
    how.answer_timeout = 500ms * slower;
    client c{how};
    const auto known = scene().slot_of("known");
    mutex near{c, "known"};
    ASSERT_TRUE(near.try_acquire_for(patience));
    std::vector<std::unique_ptr<mutex>> far;
    for (const auto n : scene().masters())
        if (n != scene().owner_of(known)) far.push_back(std::make_unique<mutex>(c, scene().key_on(n, "far")));
    ASSERT_FALSE(far.empty());
    {
        const no_descriptor_is_left now;
        int refused = 0;
        for (auto& m : far) {
            // The server that was asked for the map has a connection, too.
            const auto ec = code_of([&] { (void)m->try_acquire(); });
            if (ec) {
                EXPECT_EQ(ec, errc::unavailable);
                ++refused;
            }
        }
        EXPECT_GE(refused, 1);
    }
    for (auto& m : far) EXPECT_TRUE(works_again(*m));
}

#ifdef HOLDFAST_HAS_POSTGRES
// One for statements, and one for messages: the latter is wanted by a waiter.
TEST(no_descriptor_left, postgres_client_waits_without_messages_and_connects_again_later) {
    postgres_server server;
    postgres_server::session operator_of{server, "postgres"};
    client c{sql_settings(server.url())};
    client d{sql_settings(server.url())};
    const event_recorder events{d}, events_of_c{c};
    mutex of_c{c, "stock"};
    mutex of_d{d, "stock"};
    ASSERT_TRUE(of_d.acquire().release());
    auto held = of_c.acquire();
    {
        no_descriptor_is_left now;
        auto waiter = in_background([&] { return of_d.acquire(); });
        ASSERT_TRUE(eventually(patience, [&] { return !admin::inspect(c, "stock").queue.empty(); }));
        EXPECT_TRUE(held.release());
        EXPECT_TRUE(waiter.get().release());
        operator_of.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE "
            "'holdfast:%'");
        ASSERT_TRUE(eventually(patience, [&] {
            now.take_the_rest();
            // The connection of the other one would leave a descriptor.
            return events.has(event_kind::store_down, 0ms) && events_of_c.has(event_kind::store_down, 0ms);
        }));
        now.take_the_rest();
        for (int i = 0; i < 3; ++i) {
            std::error_code why;
            EXPECT_FALSE(of_d.try_acquire(why));
            EXPECT_EQ(why, errc::unavailable) << why.message();
        }
    }
    EXPECT_TRUE(works_again(of_d));
    EXPECT_TRUE(works_again(of_c));
}
#endif

}  // namespace
}  // namespace holdfast::test

#endif
