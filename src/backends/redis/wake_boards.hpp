// The wake channels of a client: one, or in a cluster one for each slot in which it has waited.
//
// Why not one for all slots: a release sees from the number of receivers whether the next waiter is still
// there, and a server counts only its own subscribers. And a cluster sends a message of PUBLISH to all
// servers, one of SPUBLISH only to those of the slot.
#pragma once

#include "backends/redis/wake_board.hpp"

#include <cstdint>

namespace holdfast::redis_backend {

inline constexpr std::string_view wake_prefix = "holdfast:wake:";

// Thread-safe.
class wake_boards {
  public:
    wake_boards(redis::database& db, std::string client, wake_board::told to);

    // For scripts on the lock: the channel of a client is the prefix and the client's id.
    struct channels {
        std::string prefix;
        std::string_view publish;
    };
    [[nodiscard]] channels channels_of(std::string_view lock) const;

    [[nodiscard]] std::shared_ptr<wake_board> board_of(std::string_view lock);

    // From now on receives messages that ask for this lock, as long as few slots of a cluster have such
    // locks.
    void listen(std::string_view lock);

    // See wake_board::close.
    void close();

  private:
    redis::database& db_;
    const std::string client_;
    const wake_board::told to_;

    base::mutex mutex_;
    std::unordered_map<std::uint16_t, std::shared_ptr<wake_board>> boards_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::redis_backend
