// Answers of a ZooKeeper server that are lost on their way.
#pragma once

#include "support/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace holdfast::test {

// Rules for the connections of a wire:
//
//     zookeeper_losses losses;
//     wire to_server{port, wire::memory::none, losses.taps()};
//
// Thread-safe; outlives the wire.
class zookeeper_losses {
  public:
    // The server carries out the nth request of this type from now on; its answer is lost, and the connection
    // is cut. The numbers are those of the protocol: 15 is a creation, 2 a deletion. Only requests that
    // contain the text count.
    void lose_answer_of(std::int32_t type, int nth = 1, const std::string& containing = "");
    // Answers lost so far.
    [[nodiscard]] std::size_t lost() const;

    [[nodiscard]] std::function<std::unique_ptr<wire::tap>()> taps();

  private:
    class connection;

    [[nodiscard]] bool is_meant(std::int32_t type, std::string_view request);

    mutable std::mutex mutex_;  // guards everything below
    std::int32_t type_ = 0;
    int nth_ = 0;  // 0: no rule
    std::string containing_;
    std::size_t lost_ = 0;
};

}  // namespace holdfast::test
