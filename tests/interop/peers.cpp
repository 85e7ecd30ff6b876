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

peer& the_poller(const std::string& name) {
    return one_for_all(name, [&](const redis_server& on) { return start_poller(on, name); });
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
peer& redis_py() { return the_poller("redis_py"); }
peer& redsync() { return the_poller("redsync"); }
peer& node_redlock() { return the_poller("node_redlock"); }

}  // namespace holdfast::test
