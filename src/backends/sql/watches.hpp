// Which waiters receive messages now.
#pragma once

#include "backends/common/waiter_registry.hpp"
#include "backends/sql/database.hpp"
#include "base/annotations.hpp"

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

namespace holdfast::sql_backend {

// Tells each waiter when the mailbox has begun to receive its messages, and when it has stopped. Thread-safe.
class watches : public std::enable_shared_from_this<watches> {
  public:
    explicit watches(mailbox& box) : box_(&box) {}
    // Call it before the mailbox ends.
    void close();

    // `channel` is listened to as long as somebody waits there; empty: the messages come to the client.
    [[nodiscard]] std::unique_ptr<backend::watch_handle> add(const std::string& channel,
                                                             std::unique_ptr<backend::watch_handle> inner,
                                                             const backends::waiter_registry::receiver& to);
    void on_mailbox(mailbox::state now);

  private:
    class entry;
    struct waiter {
        std::string channel;
        backends::waiter_registry::receiver to;
    };
    struct channel_state {
        std::size_t waiters = 0;
        bool listening = false;
    };
    using place = std::list<waiter>::iterator;

    void remove(place at);
    void on_listening(const std::string& channel);

    base::mutex mutex_;  // locked before that of the mailbox, which calls nothing back before it returns
    mailbox* box_ GUARDED_BY(mutex_);
    std::list<waiter> waiters_ GUARDED_BY(mutex_);
    std::unordered_map<std::string, channel_state> channels_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::sql_backend
