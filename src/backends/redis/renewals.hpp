// Renews leases that are due together, with few scripts and one write.
#pragma once

#include "backends/redis/kinds/lock_protocol.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace holdfast::redis_backend {

// Thread-safe. Must outlive the database's connections.
class renewals {
  public:
    // A request whose lease is not `allowed` is not sent; its answer is unknown.
    renewals(redis::database& db, std::function<lock_protocol&(backend::kind)> protocol_of,
             std::function<bool(std::chrono::milliseconds)> allowed)
        : db_(db), protocol_of_(std::move(protocol_of)), allowed_(std::move(allowed)) {}

    // The answers have the order of the requests.
    void send(std::span<const backend::renew_request>, time_point deadline,
              handler<std::vector<backend::renew_answer>> done) const;

  private:
    struct together;
    using places = std::vector<std::size_t>;  // indices into the requests

    void send_batches(const std::shared_ptr<together>&, std::span<const backend::renew_request>,
                      std::vector<places> batches) const;

    redis::database& db_;
    const std::function<lock_protocol&(backend::kind)> protocol_of_;
    const std::function<bool(std::chrono::milliseconds)> allowed_;
};

}  // namespace holdfast::redis_backend
