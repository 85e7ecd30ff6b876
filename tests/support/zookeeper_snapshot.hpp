// The data of a ZooKeeper server, as it reads them when it starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::test {

struct zookeeper_node {
    std::string path;  // after its parent
    std::int32_t numbers_given = 0;
};
// A snapshot with these nodes, which anyone may change, and with what each server needs.
[[nodiscard]] std::string zookeeper_snapshot(const std::vector<zookeeper_node>& nodes);

}  // namespace holdfast::test
