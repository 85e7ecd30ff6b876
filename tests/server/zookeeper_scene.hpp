// Servers and clients for tests of locks in ZooKeeper.
#pragma once

#include "support/eventually.hpp"
#include "support/sanitizers.hpp"
#include "support/zookeeper_client.hpp"
#include "support/zookeeper_server.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::test {

using namespace std::chrono_literals;
namespace zk = zookeeper;

inline config settings_for(const std::string& url, std::chrono::milliseconds lease = 3s) {
    config how;
    how.url = url;
    how.lease = lease;
    how.answer_timeout = 1s * slower;
    return how;
}

class zookeeper_locks : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!zookeeper_servers::available())
            GTEST_SKIP() << "Debian's package libzookeeper-java, or a Java, is missing";
        servers = std::make_unique<zookeeper_servers>(wanted);
    }
    [[nodiscard]] std::unique_ptr<client> new_client(std::chrono::milliseconds lease = 3s) const {
        return std::make_unique<client>(settings_for(servers->url(), lease));
    }
    // What holds the lock is in the session of this number.
    [[nodiscard]] std::int64_t session_of(const std::string& name) const {
        zookeeper_client other{servers->port(servers->leader())};
        const auto nodes = other.children("/locks/" + name);
        if (nodes.empty()) return 0;
        const auto data =
            zk::parse_data(other.ask(zk::get_data("/locks/" + name + "/" + nodes[0], zk::watch::no)));
        return data ? data->about.ephemeral_owner : 0;
    }

    zookeeper_servers::options wanted{};
    std::unique_ptr<zookeeper_servers> servers;
};

class zookeeper_ensembles : public zookeeper_locks {
  protected:
    zookeeper_ensembles() { wanted.servers = 3; }
};

}  // namespace holdfast::test
