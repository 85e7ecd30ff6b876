// Servers and clients for tests of locks in ZooKeeper.
#pragma once

#include "support/eventually.hpp"
#include "support/sanitizers.hpp"
#include "support/wire.hpp"
#include "support/zookeeper_client.hpp"
#include "support/zookeeper_losses.hpp"
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

// A client whose answers may be lost.
class zookeeper_answers : public zookeeper_locks {
  protected:
    void SetUp() override {
        zookeeper_locks::SetUp();
        if (IsSkipped()) return;
        to_server = std::make_unique<wire>(servers->port(), wire::memory::none, losses.taps());
        through = std::make_unique<client>(
            settings_for("zk://127.0.0.1:" + std::to_string(to_server->port()) + "?tick=200ms", 30s));
        // A session, and the directory.
        (void)mutex(*through, "stock").acquire();
    }
    [[nodiscard]] std::size_t nodes(const std::string& name = "stock") const {
        return zookeeper_client{servers->port()}.children("/locks/" + name).size();
    }
    void lose(zk::op answer, int nth = 1, const std::string& containing = "") {
        losses.lose_answer_of(static_cast<std::int32_t>(answer), nth, containing);
    }

    zookeeper_losses losses;
    std::unique_ptr<wire> to_server;
    std::unique_ptr<client> through;
};

// A follower that can be cut off from its leader, and goes on serving clients.
class zookeeper_cut_followers : public zookeeper_locks {
  protected:
    zookeeper_cut_followers() {
        wanted.servers = 3;
        wanted.wired = true;
        // It serves clients for so long without its leader.
        wanted.config = {"syncLimit=300"};
    }
    void SetUp() override {
        zookeeper_locks::SetUp();
        if (IsSkipped()) return;
        leader = servers->leader();
        follower = (leader + 1) % servers->size();
    }
    [[nodiscard]] std::string url_of(std::size_t n) const {
        return "zk://" + servers->host(n) + "?tick=200ms";
    }

    std::size_t leader = 0;
    std::size_t follower = 0;
};

}  // namespace holdfast::test
