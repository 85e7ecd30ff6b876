#include "interop/peers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <string>

namespace holdfast::test {

namespace {

// Skips all tests when a registry gave nothing, so that a client is missing: see fetch.sh.
class other_clients : public ::testing::Environment {
    void SetUp() override {
        std::ifstream left_out{HOLDFAST_INTEROP_FETCHED "/left_out"};
        if (std::string why; std::getline(left_out, why)) GTEST_SKIP() << why;
    }
};
const ::testing::Environment* const fetched = ::testing::AddGlobalTestEnvironment(new other_clients);

template <class Start>
peer& shared_peer(const std::string& which, Start start) {
    auto& server = interop_server();  // made first, destroyed last
    static std::map<std::string, std::unique_ptr<peer>> running;
    auto& one = running[which];
    if (one == nullptr) one = start(server);
    return *one;
}

peer& shared_poller(const std::string& name) {
    return shared_peer(name, [&](const redis_server& on) { return start_poller(on, name); });
}

peer& shared_poller_on_several(const std::string& name) {
    return shared_peer(name + " on several",
                       [&](const redis_server&) { return start_poller(several_servers(), name); });
}

}  // namespace

redis_server& interop_server() {
    static redis_server server;
    return server;
}

std::span<redis_server, several> several_servers() {
    static std::array<redis_server, several> servers;
    return servers;
}

peer& redisson(const std::string& version) {
    return shared_peer("redisson " + version,
                       [&](const redis_server& on) { return start_redisson(on, version); });
}
peer& redis_py() { return shared_poller("redis_py"); }
peer& redsync() { return shared_poller("redsync"); }
peer& node_redlock() { return shared_poller("node_redlock"); }

peer& redisson_on_several() {
    peer& java = redisson(newest_redisson);
    static const auto opened = [&] {
        std::string addresses;
        for (const auto& server : several_servers())
            addresses += (addresses.empty() ? "" : ",") + server.url();
        return java.tell("main", "open", "several", addresses);
    }();
    (void)opened;
    return java;
}
peer& redsync_on_several() { return shared_poller_on_several("redsync"); }
peer& node_redlock_on_several() { return shared_poller_on_several("node_redlock"); }

}  // namespace holdfast::test
