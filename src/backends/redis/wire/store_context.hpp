// What all parts of one store share: the database, the ids of the client, and its settings.
#pragma once

#include "backends/redis/scripts/scripts.hpp"
#include "redis/database.hpp"
#include "store/store.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace holdfast::redis_backend {

using backend::handler;
using backend::time_point;

// Outlives all that has a reference to it.
struct store_context {
    redis::database& db;
    const std::string short_id;  // 22 characters
    const std::string uuid;      // the same 128 bits, as Redisson writes them
    std::chrono::milliseconds answer_timeout;
    std::string operations_kept;  // how long the result of an operation is kept for a resend, in ms
    std::chrono::milliseconds fair_liveness;  // see config
    std::function<void(const backend::notice&)> notify;
    std::function<std::int64_t()> next_serial;  // microseconds since 1970, always growing

    // The command that Redisson's clients, and we on their channels, use to send messages.
    [[nodiscard]] std::string_view publish() const {
        return db.channels() == redis::pubsub::sharded ? "SPUBLISH" : "PUBLISH";
    }
};

[[nodiscard]] inline redis::script_ref ref(const redis_scripts::script& s) { return {s.text, s.sha1}; }

}  // namespace holdfast::redis_backend
