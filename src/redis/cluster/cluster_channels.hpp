// Subscriptions that follow their slot to whichever server of the cluster serves it.
#pragma once

#include "base/annotations.hpp"
#include "io/reactor.hpp"
#include "redis/pubsub/subscriber.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

namespace holdfast::redis {

class node;

// A channel belongs to a slot as a key does. It is subscribed at the master of that slot: this server serves
// it if it is sharded, and the scripts publish there and count only the listeners on their own server.
//
// Thread-safe. Handlers run on the reactor thread, like those of a subscriber.
class cluster_channels : public std::enable_shared_from_this<cluster_channels> {
  public:
    struct callbacks {
        // The server of the slot; null if none is known.
        std::function<std::shared_ptr<node>(std::uint16_t slot)> server_of;
        // The server does not serve the channel. The error is a redirection, or says that its cluster is
        // down.
        std::function<void(const node&, const std::string& error_text)> not_served;
    };
    cluster_channels(io::reactor&, callbacks);

    [[nodiscard]] std::unique_ptr<subscription> join(std::string channel, std::uint16_t slot, pubsub how,
                                                     sub_handler);
    // On the reactor thread. Call when slots may have other servers than before.
    void place_all();

  private:
    struct following;
    class handle;

    void place(const std::shared_ptr<following>&);
    void place_later(const std::shared_ptr<following>&);
    void on_event(const std::shared_ptr<following>&, const sub_event&);
    void leave(const std::shared_ptr<following>&);

    io::reactor& reactor_;
    const callbacks callbacks_;

    base::mutex mutex_;
    std::unordered_set<std::shared_ptr<following>> all_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::redis
