// Subscribes to channels of one server, over a separate connection that the reactor reads.
#pragma once

#include "io/reactor.hpp"
#include "redis/config/node_config.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace holdfast::redis {

// Separate: a message of one sort does not reach subscriptions of the other.
enum class pubsub {
    plain,    // PUBLISH and SUBSCRIBE; in a cluster each message goes to all servers
    sharded,  // SPUBLISH and SSUBSCRIBE: the server of the channel's slot serves it
};

// An event for the handler of a subscription.
struct sub_event {
    enum class what {
        subscribed,  // the server confirmed: messages published from now on arrive
        message,     // `text` is the payload
        broken,      // messages may have been lost; `subscribed` follows when the channel is served again
        // `text` is the server's error: no right to subscribe, or (only inside a cluster) not served here.
        // Tried again only after a reconnect.
        refused,
    } kind;
    std::string_view text;  // valid during the call
};
using sub_handler = callback<void(const sub_event&), 64>;

// Keeps one handler on a channel until it is destroyed. After the destructor has returned the handler does
// not run: the destructor waits for a running call, so do not hold a lock that the handler takes. It does not
// wait when a handler calls it for its own or another subscription. Destroy it before the node that made it.
class subscription {
  public:
    subscription() = default;
    subscription(const subscription&) = delete;
    subscription& operator=(const subscription&) = delete;
    virtual ~subscription() = default;
};

// Thread-safe. Connects at the first subscription, reconnects with back-off and then subscribes again.
// Handlers run on the reactor thread, one at a time; they must be short and never block.
class subscriber {
  public:
    // `config` is copied. The reactor must outlive the subscriber.
    subscriber(const node_config& config, io::reactor&);
    subscriber(const subscriber&) = delete;
    subscriber& operator=(const subscriber&) = delete;
    ~subscriber();

    // Does not block. One server-side subscription serves all handlers of a channel; a handler that joins an
    // existing one receives `subscribed` too. A message may come before `subscribed`, never instead of it.
    // All subscriptions of one channel must have the same `how`.
    [[nodiscard]] std::unique_ptr<subscription> subscribe(std::string channel, sub_handler,
                                                          pubsub how = pubsub::plain);

    // For a forked child: closes the socket and touches nothing else; the destructor then does nothing.
    void abandon() noexcept;

    class core;

  private:
    std::shared_ptr<core> core_;
};

}  // namespace holdfast::redis
