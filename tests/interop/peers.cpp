#include "interop/peers.hpp"

#include <map>

namespace holdfast::test {

namespace {

template <class Start>
peer& one_for_all(const std::string& which, Start start) {
    auto& server = interop_server();  // made first, destroyed last
    static std::map<std::string, std::unique_ptr<peer>> running;
    auto& one = running[which];
    if (one == nullptr) one = start(server);
    return *one;
}

}  // namespace

redis_server& interop_server() {
    static redis_server server;
    return server;
}

peer& redisson(const std::string& version) {
    return one_for_all("redisson " + version,
                       [&](const redis_server& on) { return start_redisson(on, version); });
}
peer& redis_py() { return one_for_all("redis-py", start_redis_py); }
peer& redsync() { return one_for_all("redsync", start_redsync); }
peer& node_redlock() { return one_for_all("node-redlock", start_node_redlock); }

}  // namespace holdfast::test
