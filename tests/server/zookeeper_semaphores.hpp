// Semaphores in ZooKeeper, and what a client of Curator does there.
#pragma once

#include "server/zookeeper_scene.hpp"

#include <string>

namespace holdfast::test {

// A client of Curator takes its place in the line, creates its permit, and holds it once there are not too
// many.
inline std::string curators(const std::string& mark) {
    return "_c_11111111-2222-4333-8444-555555555555-" + mark;
}

// The server removes directories that are empty, at any moment: then they are made anew.
inline std::string create_in(zookeeper_client& with, const std::string& directory, const std::string& name) {
    for (;;) {
        const auto made = zk::parse_created(with.ask(zk::create(
            directory + '/' + name, "10.0.0.7", zk::lifetime::ephemeral_sequential, zk::access::anyone)));
        if (made || with.last != zk::code::no_node) return made ? made->path : std::string{};
        for (auto end = directory.find('/', 1); end != std::string::npos; end = directory.find('/', end + 1))
            with.ask(zk::create(directory.substr(0, end), {}, zk::lifetime::container, zk::access::anyone));
        with.ask(zk::create(directory, {}, zk::lifetime::container, zk::access::anyone));
    }
}

class zookeeper_semaphores : public zookeeper_locks {
  protected:
    static constexpr const char* permits = "/locks/seats/leases";
    static constexpr const char* line = "/locks/seats/locks";

    [[nodiscard]] static counting_semaphore seats(client& on, std::int64_t total) {
        return {on, "seats", {.total = total}};
    }
};

}  // namespace holdfast::test
