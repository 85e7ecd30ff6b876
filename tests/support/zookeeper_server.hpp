// Real ZooKeeper servers for one test: one, or an ensemble of three.
#pragma once

#include "support/child_process.hpp"
#include "support/eventually.hpp"
#include "support/loopback.hpp"
#include "support/wire.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

// The constructor starts the servers and returns when they serve. They listen on ports of 127.0.0.1, which
// they keep, and are killed by the destructor, or when the thread that started them ends. Not thread-safe.
// Throws std::runtime_error, with a server's log, when something fails that a test relies on.
//
// Needs the jars of Debian's package libzookeeper-java, and a Java.
class zookeeper_servers {
  public:
    struct options {
        std::size_t servers = 1;              // 1 or 3
        std::chrono::milliseconds tick{200};  // sessions last 2 to `longest` ticks
        int longest = 200;
        std::vector<std::string> config;  // more lines of zoo.cfg
        std::vector<std::string> java;    // more options of the Java that runs them
        bool synced = false;              // wait for the disk, as servers do by default
        std::string snapshot;             // their data when they start for the first time
        // The servers of an ensemble reach each other over wires, so that cut_off() works.
        bool wired = false;
    };

    // Whether the jars and a Java are here.
    [[nodiscard]] static bool available();

    zookeeper_servers();
    explicit zookeeper_servers(options wanted);
    zookeeper_servers(const zookeeper_servers&) = delete;
    zookeeper_servers& operator=(const zookeeper_servers&) = delete;
    ~zookeeper_servers();

    [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
    [[nodiscard]] std::uint16_t port(std::size_t n = 0) const { return members_.at(n)->client.number(); }
    // "127.0.0.1:port,..." of all, or of one.
    [[nodiscard]] std::string hosts() const;
    [[nodiscard]] std::string host(std::size_t n) const { return "127.0.0.1:" + std::to_string(port(n)); }
    // zk://hosts/?tick=...
    [[nodiscard]] std::string url(const std::string& chroot = "") const;

    // The member that leads; waits for one.
    [[nodiscard]] std::size_t leader();
    // SIGKILL, as a crash. Its data stay.
    void stop(std::size_t n = 0);
    // Returns when it serves, or, with `wait` false, at once: it cannot serve alone.
    void start(std::size_t n = 0, bool wait = true);
    void pause(std::size_t n = 0);
    void resume(std::size_t n = 0);
    void await(std::size_t n = 0);
    // Nothing passes between this follower and its leader, or the leader and all its followers, until heal();
    // clients reach all of them. They still know whom the others elect.
    void cut_off(std::size_t n);
    void cut_between(std::size_t one, std::size_t other);
    void heal();

  private:
    struct member {
        temp_dir directory;
        reserved_port client, quorum, election;
        std::vector<std::unique_ptr<wire>> to_others;  // by member, to its quorum port; empty if not wired
        std::optional<child_process> process;
        bool paused = false;
    };

    void write_config(std::size_t n) const;
    // The answer to `srvr`; empty if there is none.
    [[nodiscard]] std::string state(std::size_t n) const;
    [[nodiscard]] std::string log(std::size_t n) const;

    const options options_;
    std::vector<std::unique_ptr<member>> members_;
};

}  // namespace holdfast::test
