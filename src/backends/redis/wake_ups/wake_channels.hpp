// The wake channels of a client: one, or in a cluster one for each slot in which it has waited.
//
// Why not one for all slots: a release sees from the number of receivers whether the next waiter is still
// there, and a server counts only its own subscribers. And a cluster sends a message of PUBLISH to all
// servers, one of SPUBLISH only to those of the slot.
#pragma once

#include "backends/redis/wake_ups/wake_channel.hpp"

#include <cstdint>

namespace holdfast::redis_backend {

inline constexpr std::string_view wake_prefix = "holdfast:wake:";

// Thread-safe.
class wake_channels {
  public:
    wake_channels(redis::database& db, std::string client, wake_channel::callbacks to);

    // For scripts on the lock: the channel of a client is the prefix and the client's id.
    struct names {
        std::string prefix;
        std::string_view publish;
    };
    [[nodiscard]] names names_for(std::string_view lock) const;

    [[nodiscard]] std::shared_ptr<wake_channel> channel_for(std::string_view lock);

    // From now on receives messages that ask for this lock, as long as few slots of a cluster have such
    // locks.
    void listen(std::string_view lock);

    // See wake_channel::close.
    void close();

  private:
    redis::database& db_;
    const std::string client_;
    const wake_channel::callbacks callbacks_;

    base::mutex mutex_;
    std::unordered_map<std::uint16_t, std::shared_ptr<wake_channel>> channels_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::redis_backend
