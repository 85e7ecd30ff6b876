// A wake channel of a client, and its waiters by the message that each waits for.
//
// A message is "<token> <score> <name>": the lock <name> was handed off to <token>. If a watch is open for
// the token, it receives the message; if not, the waiter is gone and the client releases the lock at once. A
// watch stays open until the release of its token is sent, so that a message read late is not mistaken for an
// unwanted grant.
//
// "<owner> evicted <client> <name>" asks the owner's client to give up all that the owner holds. The client
// receives it if it has ever waited, or has called listen(). When the lease has ended, it sends "<owner>
// gave_up <name>" to the client that asked.
#pragma once

#include "backends/common/waiter_registry.hpp"
#include "base/annotations.hpp"
#include "redis/database.hpp"
#include "store/store.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::redis_backend {

// Thread-safe.
class wake_channel : public std::enable_shared_from_this<wake_channel> {
  public:
    using handler = backend::handler<backend::watch_event>;
    // Callbacks to the store.
    struct callbacks {
        // A grant without a waiter.
        std::function<void(std::string_view token, std::string_view name)> unwanted_grant;
        // The client `asker` asks to give up what the owner holds.
        std::function<void(std::string_view owner, std::string_view asker, std::string_view name)> evicted;
        // The owner's client has ended its lease, because this client asked.
        std::function<void(std::string_view owner)> gave_up;
        std::function<void(std::string_view why)> no_right;
    };

    wake_channel(redis::database& db, std::string channel, redis::pubsub how, callbacks to);

    // The first watch subscribes; the subscription lasts as long as the channel.
    // A handle keeps the channel.
    [[nodiscard]] std::unique_ptr<backend::watch_handle> watch(const backend::lock_key&,
                                                               const owner_id& token, handler notify);
    // Subscribes, for messages that ask for a lock. A refusal matters only to waiters. True: the server has
    // answered, so messages from now on arrive, or never will.
    bool listen();

    // Ends the subscription. Call it before the database is destroyed.
    void close();

  private:
    enum class state { unasked, asked, listening, refused };

    void subscribe();
    void on_event(const redis::sub_event& e);
    void on_message(std::string_view text);
    void notify_all(backend::watch_event::change what);

    redis::database& db_;
    const std::string name_;
    const redis::pubsub how_;
    const callbacks callbacks_;
    backends::waiter_registry waiters_;

    base::mutex mutex_;
    state state_ GUARDED_BY(mutex_) = state::unasked;
    std::optional<std::string> refusal_ GUARDED_BY(mutex_);  // not reported yet: no watch is open
    std::unique_ptr<redis::subscription> subscription_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::redis_backend
