// What a program without a library does in ZooKeeper, on the library's own code of the protocol.
#pragma once

#include "support/zookeeper_client.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace holdfast::bench {

// A node of this session, with a number behind its path. Returns the name.
inline std::string create_numbered(test::zookeeper_client& to, const std::string& directory) {
    namespace zk = zookeeper;
    const auto made = zk::parse_created(
        to.ask(zk::create(directory + "/x-", "", zk::lifetime::ephemeral_sequential, zk::access::anyone)));
    if (!made) throw std::runtime_error("ZooKeeper does not make the node");
    return made->path.substr(directory.size() + 1);
}

inline void remove_node(test::zookeeper_client& to, const std::string& path) {
    to.ask(zookeeper::remove(path));
    if (to.last != zookeeper::code::ok) throw std::runtime_error("ZooKeeper does not delete the node");
}

inline void make_directory(test::zookeeper_client& to, const std::string& path) {
    to.ask(zookeeper::create(path, "", zookeeper::lifetime::persistent, zookeeper::access::anyone));
}

// The recipe for a lock of ZooKeeper's documentation.
class documented_recipe {
  public:
    explicit documented_recipe(test::zookeeper_client& to) : to_(to) { make_directory(to_, directory_); }

    void create() { own_ = create_numbered(to_, directory_); }
    // Waits for the node before the own one.
    void await_turn() {
        for (;;) {
            auto all = to_.children(directory_);
            std::sort(all.begin(), all.end());
            const auto own = std::find(all.begin(), all.end(), own_);
            if (own == all.end()) throw std::runtime_error("the node is gone");
            if (own == all.begin()) return;
            to_.ask_and_watch(zookeeper::exists(directory_ + "/" + *(own - 1), zookeeper::watch::yes));
            if (to_.last == zookeeper::code::ok) to_.await_event();
        }
    }
    void remove() { remove_node(to_, directory_ + "/" + own_); }

  private:
    test::zookeeper_client& to_;
    const std::string directory_ = "/by-hand";
    std::string own_;
};

// The recipe of Curator's InterProcessSemaphoreV2, which is ours too: permits are nodes, and a client creates
// one only while it is the first in a line.
class documented_semaphore {
  public:
    documented_semaphore(test::zookeeper_client& to, std::size_t permits)
        : to_(to), permits_(permits), line_(to) {
        make_directory(to_, leases_);
    }

    void acquire() {
        line_.create();
        line_.await_turn();
        own_ = create_numbered(to_, leases_);
        const auto all = zookeeper::parse_children(
            to_.ask_and_watch(zookeeper::get_children(leases_, zookeeper::watch::yes)));
        if (!all) throw std::runtime_error("ZooKeeper does not list the permits");
        // Nobody else creates a permit now, so the first change is a release.
        if (all->names.size() > permits_) to_.await_event();
        line_.remove();
    }
    void release() { remove_node(to_, leases_ + "/" + own_); }

  private:
    test::zookeeper_client& to_;
    const std::size_t permits_;
    const std::string leases_ = "/by-hand-leases";
    documented_recipe line_;
    std::string own_;
};

}  // namespace holdfast::bench
