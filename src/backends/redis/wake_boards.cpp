#include "backends/redis/wake_boards.hpp"

#include "redis/cluster/slots.hpp"

#include <utility>
#include <vector>

namespace holdfast::redis_backend {

namespace {

// The number of subscriptions that are kept without waiters. A client that soon waits in the same slot again
// saves a round trip; one that waits in all slots in turn must not keep 16384.
constexpr std::size_t kept = 64;

}  // namespace

wake_boards::wake_boards(redis::database& db, std::string client, wake_board::told to)
    : db_(db), client_(std::move(client)), to_(std::move(to)) {}

wake_boards::channels wake_boards::channels_of(std::string_view lock) const {
    std::string prefix{wake_prefix};
    if (!db_.is_cluster()) return {std::move(prefix), "PUBLISH"};
    prefix.append("{").append(redis::tag_of(db_.slot_of(lock))).append("}");
    return {std::move(prefix), "SPUBLISH"};
}

std::shared_ptr<wake_board> wake_boards::board_of(std::string_view lock) {
    std::vector<std::shared_ptr<wake_board>> dropped;  // their subscriptions end outside the mutex
    base::guard hold{mutex_};
    if (boards_.size() > kept) {
        for (auto it = boards_.begin(); it != boards_.end();) {
            if (it->second.use_count() > 1) {
                ++it;
                continue;
            }
            dropped.push_back(std::move(it->second));
            it = boards_.erase(it);
        }
    }
    auto& board = boards_[db_.slot_of(lock)];
    if (!board)
        board = std::make_shared<wake_board>(db_, channels_of(lock).prefix + client_,
                                             db_.is_cluster() ? redis::pubsub::sharded : redis::pubsub::plain,
                                             to_);
    auto found = board;
    hold.unlock();
    return found;
}

void wake_boards::listen(std::string_view lock) {
    if (db_.is_cluster()) {
        base::guard hold{mutex_};
        if (boards_.size() >= kept && !boards_.contains(db_.slot_of(lock))) return;
    }
    board_of(lock)->listen();
}

void wake_boards::close() {
    base::guard hold{mutex_};
    for (const auto& [slot, board] : boards_) board->close();
}

}  // namespace holdfast::redis_backend
