// Servers and proxies that lack some commands (managed offerings): the client does what it can without them
// and soon reports the rest in one sentence.
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

redis_server::options without(std::initializer_list<std::string> commands) {
    redis_server::options o;
    for (const auto& c : commands) o.config.push_back("rename-command " + c + " \"\"");
    return o;
}

// The connections accepted so far, including the one that asks.
std::int64_t connections(redis_server& server) {
    const auto info = server.command({"INFO", "stats"}).text;
    const std::string field = "total_connections_received:";
    return std::stoll(info.substr(info.find(field) + field.size()));
}

template <class Kind>
class missing_commands : public ::testing::Test {};
TYPED_TEST_SUITE(missing_commands, all_kinds, kind_names);

TYPED_TEST(missing_commands, waiter_polls_over_existing_connections_without_pubsub) {
    redis_server server{without({"SUBSCRIBE", "PUBLISH", "CLIENT"})};
    client c{server.url()};
    client d{server.url()};
    event_recorder events{d};
    auto lock = TypeParam::make(c, "job");
    auto others = TypeParam::make(d, "job");
    for (int round = 0; round < 3; ++round) {
        lease held = lock.acquire();
        auto waiter = waiter_for(others);
        ASSERT_TRUE(events.has(event_kind::no_channel_right));
        const auto asked = d.stats().commands_sent;
        ASSERT_TRUE(eventually(patience, [&] { return d.stats().commands_sent >= asked + 5; }));
        EXPECT_EQ(held.release(), release_outcome::released);
        EXPECT_EQ(waiter.get().release(), release_outcome::released);
    }
    EXPECT_FALSE(exists(server, "job"));
    // Each client has one for commands and one for messages; the fixture has its own.
    EXPECT_LE(connections(server), 6);
}

TYPED_TEST(missing_commands, error_says_that_the_server_lacks_scripts) {
    redis_server server{without({"EVAL", "EVALSHA", "SCRIPT"})};
    client c{server.url()};
    auto lock = TypeParam::make(c, "job");
    if constexpr (!std::is_same_v<TypeParam, plain>) {
        const stopwatch since;
        try {
            lock.lock();
            ADD_FAILURE() << "locked";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::invalid_argument) << e.what();
            EXPECT_NE(std::string{e.what()}.find("the server lacks a command"), std::string::npos)
                << e.what();
            EXPECT_NE(e.server_text().find("EVAL"), std::string::npos) << e.server_text();
        }
        EXPECT_LT(since.took(), slack);
        EXPECT_FALSE(exists(server, "job"));
    }
    EXPECT_LE(connections(server), 4);
}

}  // namespace
}  // namespace holdfast::test
