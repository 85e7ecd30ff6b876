// What operators see of a lock record.
#pragma once

#include "engine/lock_record.hpp"
#include "store/inspection.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::backends {

// What a store knows of the client of an owner.
struct client_seen {
    std::string host{};  // empty: unknown
    std::int64_t pid = 0;
    backend::presence client = backend::presence::unknown;
    std::string ask_at{};  // see holder_info
};
using look_up_client = std::function<client_seen(const owner_id&)>;

[[nodiscard]] backend::lock_info describe(const lock_name&, const engine::lock_record&,
                                          engine::store_time now, const look_up_client&);

// The time left of the lease of `owner`; empty if it does not hold the lock.
[[nodiscard]] std::optional<backend::milliseconds> left_of(const engine::lock_record&,
                                                           const std::string& owner, engine::store_time now);

// The request that releases a lock for one of its holders, and what is left of the lease.
struct eviction {
    backend::release_request request;
    backend::milliseconds left{0};
};
[[nodiscard]] std::vector<eviction> evictions_of(const lock_name&, const engine::lock_record&,
                                                 const std::vector<std::string>& owners,
                                                 engine::store_time now);

}  // namespace holdfast::backends
