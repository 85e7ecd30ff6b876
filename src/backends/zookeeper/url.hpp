// The URL of a ZooKeeper ensemble.
#pragma once

#include "zookeeper/session.hpp"

#include <string>
#include <string_view>

namespace holdfast::zookeeper_backend {

struct url {
    std::vector<zookeeper::server> servers;
    std::string credentials;      // "user:password"; empty: none
    std::string chroot;           // "" or "/app"
    std::string base = "/locks";  // below the chroot; each lock is one of its children
    zookeeper::milliseconds tick{2'000};
};

// "zk://[user:password@]host[:port],host[:port].../chroot?option=value&...", zks:// in TLS. The options are
// those of docs/stores/zookeeper.md. Throws holdfast::error (errc::invalid_argument), which shows no
// password.
[[nodiscard]] url parse_url(std::string_view text);

}  // namespace holdfast::zookeeper_backend
