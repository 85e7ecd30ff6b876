// The URL of a ZooKeeper ensemble.
#pragma once

#include "backends/zookeeper/names.hpp"
#include "zookeeper/session.hpp"

#include <string>
#include <string_view>

namespace holdfast::zookeeper_backend {

// What the fences of a mutex are.
enum class fence_source {
    zxid,  // the number of the transaction that created the holder's node: costs nothing
    time,  // they follow the leader's clock, like the fences of other stores, and the last one is written
           // down
};

struct url {
    std::vector<zookeeper::server> servers;
    std::string credentials;      // "user:password"; empty: none
    std::string chroot;           // "" or "/app"
    std::string base = "/locks";  // below the chroot; each lock is one of its children
    naming names = naming::curator;
    fence_source fences = fence_source::zxid;
    zookeeper::milliseconds tick{2'000};
};

// "zk://[user:password@]host[:port],host[:port].../chroot?option=value&...", zks:// in TLS. The options are
// those of docs/stores/zookeeper.md. Throws holdfast::error (errc::invalid_argument), which shows no
// password.
[[nodiscard]] url parse_url(std::string_view text);

}  // namespace holdfast::zookeeper_backend
