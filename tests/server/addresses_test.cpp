// The ways to name a server.
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

bool works(const std::string& url, const std::string& name = "job") {
    client c{url};
    mutex lock{c, name};
    recursive_mutex again{c, name + ".r"};
    const bool both = lock.try_lock() && again.try_lock();
    lock.unlock();
    again.unlock();
    return both;
}

TEST(addresses, host_and_port_work) {
    redis_server server;
    EXPECT_TRUE(works(server.url()));
    EXPECT_TRUE(works("redis://localhost:" + std::to_string(server.port())));
}

TEST(addresses, unix_socket_works) {
    redis_server server;
    const auto url = "unix://" + server.socket_path();
    EXPECT_TRUE(works(url));
    // It is the same server: the lock excludes others, and waiting works there too.
    client there{url};
    client here{server.url()};
    mutex mine{there, "job"};
    mutex others{here, "job"};
    lease held = mine.acquire();
    EXPECT_FALSE(others.try_lock());
    auto waiter = waiter_for(others);
    ASSERT_TRUE(waits<plain>(server, "job"));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(waiter.get().valid());
}

TEST(addresses, password_is_sent) {
    redis_server server{{.password = "s3cret"}};
    EXPECT_TRUE(works(server.url()));
    EXPECT_TRUE(works("unix://" + server.socket_path() + "?password=s3cret"));
    EXPECT_EQ(code_of([&] { (void)works("redis://127.0.0.1:" + std::to_string(server.port())); }),
              errc::no_permission);
}

TEST(addresses, escaped_user_and_password_work) {
    redis_server server{{.users = {"worker on >p@ss:w/rd% ~* &* +@all"}}};
    const auto port = std::to_string(server.port());
    EXPECT_TRUE(works("redis://worker:p%40ss%3Aw%2Frd%25@127.0.0.1:" + port));
    EXPECT_TRUE(works("unix://" + server.socket_path() + "?user=worker&password=p%40ss%3Aw%2Frd%25"));
}

TEST(addresses, database_is_selected) {
    redis_server server;
    for (const auto& url :
         {server.url() + "/3", server.url() + "?db=3", "unix://" + server.socket_path() + "?db=3"}) {
        client c{url};
        mutex lock{c, "job"};
        client other{server.url()};
        mutex in_zero{other, "job"};
        lease held = lock.acquire();
        EXPECT_TRUE(server.keys().empty());
        EXPECT_EQ(server.command({"SELECT", "3"}).text, "OK");
        EXPECT_EQ(server.keys(), std::vector<std::string>{"job"}) << url;
        EXPECT_EQ(server.command({"SELECT", "0"}).text, "OK");
        // Another database is another lock.
        EXPECT_TRUE(in_zero.try_lock());
        in_zero.unlock();

        // Channels span databases, the queue does not: hand-off works within one.
        client d{url};
        mutex second{d, "job"};
        auto waiter = waiter_for(second);
        EXPECT_TRUE(eventually(patience, [&] {
            server.command({"SELECT", "3"});
            const bool there = queued(server, "job") == 1;
            server.command({"SELECT", "0"});
            return there;
        }));
        const stopwatch since;
        EXPECT_TRUE(held.release());
        EXPECT_TRUE(waiter.get().valid());
        EXPECT_LT(since.took(), slack);
    }
}

TEST(addresses, unknown_database_is_rejected) {
    redis_server server;
    const stopwatch since;
    EXPECT_EQ(code_of([&] { (void)works(server.url() + "/999"); }), errc::invalid_argument);
    EXPECT_LT(since.took(), 1s + slack);
}

}  // namespace
}  // namespace holdfast::test
