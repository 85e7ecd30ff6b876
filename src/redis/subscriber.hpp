// Channels of one server: a connection of its own, read by the reactor.
#pragma once

#include "io/reactor.hpp"
#include "redis/config.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace holdfast::redis {

// Two worlds: what is published in one is not heard in the other.
enum class pubsub {
    plain,    // PUBLISH and SUBSCRIBE; in a cluster each message goes to all servers
    sharded,  // SPUBLISH and SSUBSCRIBE: a channel has a slot, and its server serves it
};

// What the handler of a subscription is told.
struct sub_event {
    enum class what {
        subscribed,  // the server confirmed: messages published from now on arrive
        message,     // `text` is the payload
        broken,      // messages may have been lost; `subscribed` follows when the channel is served again
        refused,  // `text` is the server's: no right to listen, or (to a cluster's nodes only, which do not
                  // pass it on) not served here; tried again after a reconnect only
    } kind;
    std::string_view text;  // valid during the call
};
using sub_handler = callback<void(const sub_event&), 64>;

// Keeps one handler on a channel; destroying it takes it off. When the destructor has returned the
// handler does not run and will not: it waits for a running call, so do not hold a lock that the handler
// takes. Only a handler that destroys its own (or another's) subscription does not wait.
// Must be destroyed before the node it came from.
class subscription {
  public:
    subscription() = default;
    subscription(const subscription&) = delete;
    subscription& operator=(const subscription&) = delete;
    virtual ~subscription() = default;
};

// Thread-safe. Connects at the first subscription, reconnects with back-off, subscribes again by itself.
// Handlers run on the reactor thread, one at a time; they must be short and never block.
class subscriber {
  public:
    // `config` is copied. The reactor must outlive the subscriber.
    subscriber(const node_config& config, io::reactor&);
    subscriber(const subscriber&) = delete;
    subscriber& operator=(const subscriber&) = delete;
    ~subscriber();

    // Does not block. One server-side subscription serves all handlers of a channel; a handler that joins
    // a live one is told `subscribed` too. A message may come before `subscribed`, never instead of it.
    // All subscriptions of one channel are plain or all are sharded.
    [[nodiscard]] std::unique_ptr<subscription> subscribe(std::string channel, sub_handler,
                                                          pubsub how = pubsub::plain);

    // In a forked child: close the socket, touch nothing else, and make the destructor do nothing.
    void abandon() noexcept;

    class core;

  private:
    std::shared_ptr<core> core_;
};

}  // namespace holdfast::redis
