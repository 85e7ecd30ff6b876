#include "backends/redis/wake_ups/wake_channels.hpp"

#include "redis/cluster/slots.hpp"

#include <utility>
#include <vector>

namespace holdfast::redis_backend {

namespace {

// The number of subscriptions that are kept without waiters. A client that soon waits in the same slot again
// saves a round trip; one that waits in all slots in turn must not keep 16384.
constexpr std::size_t kept = 64;

}  // namespace

wake_channels::wake_channels(redis::database& db, std::string client, wake_channel::callbacks to)
    : db_(db), client_(std::move(client)), callbacks_(std::move(to)) {}

wake_channels::names wake_channels::names_for(std::string_view lock) const {
    std::string prefix{wake_prefix};
    if (!db_.is_cluster()) return {std::move(prefix), "PUBLISH"};
    prefix.append("{").append(redis::tag_of(db_.slot_of(lock))).append("}");
    return {std::move(prefix), "SPUBLISH"};
}

std::shared_ptr<wake_channel> wake_channels::channel_for(std::string_view lock) {
    std::vector<std::shared_ptr<wake_channel>> dropped;  // their subscriptions end outside the mutex
    base::guard hold{mutex_};
    if (channels_.size() > kept) {
        for (auto it = channels_.begin(); it != channels_.end();) {
            if (it->second.use_count() > 1) {
                ++it;
                continue;
            }
            dropped.push_back(std::move(it->second));
            it = channels_.erase(it);
        }
    }
    auto& channel = channels_[db_.slot_of(lock)];
    if (!channel)
        channel = std::make_shared<wake_channel>(
            db_, names_for(lock).prefix + client_,
            db_.is_cluster() ? redis::pubsub::sharded : redis::pubsub::plain, callbacks_);
    auto found = channel;
    hold.unlock();
    return found;
}

void wake_channels::listen(std::string_view lock) {
    if (db_.is_cluster()) {
        base::guard hold{mutex_};
        if (channels_.size() >= kept && !channels_.contains(db_.slot_of(lock))) return;
    }
    channel_for(lock)->listen();
}

void wake_channels::close() {
    base::guard hold{mutex_};
    for (const auto& [slot, channel] : channels_) channel->close();
}

}  // namespace holdfast::redis_backend
