// The search of a session for a server that accepts it. Used on the reactor's thread only.
#pragma once

#include "zookeeper/session.hpp"

namespace holdfast::zookeeper {

// Shared with the thread that resolves a name, which may outlive everything else here.
struct session::lookup {
    base::mutex mutex;
    io::reactor* notify GUARDED_BY(mutex);  // null: no longer wanted

    explicit lookup(io::reactor& r) : notify(&r) {}
};

struct session::connecting {
    enum class stage { name, tcp, tls, login };

    // Of the round over all servers.
    std::size_t servers_tried = 0;
    std::size_t refusals = 0;  // servers that answered the login by closing the connection
    std::string why;           // the last failure
    std::error_code reason{};

    // Of one server.
    server* to = nullptr;
    std::shared_ptr<lookup> names;
    std::vector<io::address> addresses;
    std::size_t next_address = 0;
    stage at = stage::name;
    std::shared_ptr<io::stream> stream;
    bool watched = false;
    io::timer_id timer;
    std::string out;  // the rest of the login
    frame_reader in;
    time_point login_sent{};
};

}  // namespace holdfast::zookeeper
