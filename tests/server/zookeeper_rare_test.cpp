// Locks in ZooKeeper, when servers do what they rarely do: a server in memory does it on cue.
#include "server/fake_zookeeper.hpp"
#include "server/zookeeper_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/event_recorder.hpp"

#include <algorithm>
#include <atomic>

namespace holdfast::test {
namespace {

using fate = fake_zookeeper::reaction::fate;

class zookeeper_rarely : public ::testing::Test {
  protected:
    static constexpr const char* another = "_c_11111111-2222-4333-8444-555555555555-";

    void SetUp() override { server.create("/locks"); }
    [[nodiscard]] std::unique_ptr<client> new_client(std::chrono::milliseconds lease = 30s) const {
        return std::make_unique<client>(settings_for(server.url(), lease));
    }
    [[nodiscard]] std::vector<std::string> nodes(const std::string& name) const {
        return server.children("/locks/" + name);
    }

    fake_zookeeper server;
};

// --- sessions ---------------------------------------------------------------------------------------------

TEST_F(zookeeper_rarely, a_session_gets_less_time_when_it_moves_and_its_leases_too) {
    server.grant(20'000);
    const auto c = new_client(15s);
    const auto held = mutex(*c, "stock").acquire({.ttl = 60s});
    const auto first = held.deadline();
    EXPECT_GT(first, boot_clock::now() + 10s);
    server.grant(3'000);
    // No request is answered from now on, so nothing is proved.
    server.set_rule([](const fake_zookeeper::asked&) {
        return fake_zookeeper::reaction{fate::silence, {}, {}};
    });
    server.cut_all();
    ASSERT_TRUE(eventually(patience, [&] { return server.logins() >= 2; }));
    EXPECT_TRUE(eventually(1s * slower, [&] { return held.deadline() < boot_clock::now() + 3s; }))
        << "the leader ends the session 3 s after the login";
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    EXPECT_LT(boot_clock::now(), first - 5s) << "the loss is reported in time";
}

}  // namespace
}  // namespace holdfast::test
