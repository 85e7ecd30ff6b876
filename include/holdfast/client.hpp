// One connection to one store, shared by all locks of a process.
#pragma once

#include <holdfast/config.hpp>
#include <holdfast/event.hpp>
#include <holdfast/export.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast {

namespace session {
class client_state;
}
namespace http {
class metrics_server;
}
namespace detail {
class access;
}

// Make one per process and store, and keep it longer than the locks made from it. It has a thread for I/O and
// renewals, a thread that runs the callbacks of lease::lost_token(), and a thread for each listener. Without
// memory for what the thread for I/O must do, the process ends (std::terminate).
//
// Thread safety: all members may be called from any threads at once.
// fork(): a client is dead in the child; every call there throws errc::forked, destructors do nothing.
// Lifetime: the destructor ends all waits for locks (errc::closed), releases the locks that are still held
// and runs the callbacks that are due. It takes at most config::close_timeout. No callback starts after it
// has returned; a callback that blocks longer keeps running until it returns.
class HOLDFAST_API client {
  public:
    // Does not block: it connects in the background, and the first call that needs the store waits for the
    // connection. Throws holdfast::error (errc::invalid_argument) for a URL or setting it cannot use, and
    // std::system_error if the system has no thread or descriptor left.
    explicit client(std::string_view url);
    explicit client(const char* url) : client(std::string_view{url}) {}
    explicit client(config settings);
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    ~client();

    // Calls `listener` for each event, one after another, on a thread of this listener's own. The first
    // events report the present state of the store (store_up, store_down, eviction_risk, no_channel_right,
    // quorum_...). A slow `listener` delays no other listener and no lease::lost_token(). At most 65,536
    // events wait for it; later ones are dropped, and the event events_dropped reports that. Exceptions from
    // `listener` are ignored. Events arrive as long as the result is kept. Throws std::system_error if the
    // system has no thread left.
    [[nodiscard]] event_subscription on_event(std::function<void(const event&)> listener);

    [[nodiscard]] client_stats stats() const;
    [[nodiscard]] const config& settings() const noexcept;
    // The strongest exclusion that this client's locks can promise.
    [[nodiscard]] holdfast::strength strength() const noexcept;

  private:
    friend class detail::access;

    std::shared_ptr<session::client_state> state_;
    std::shared_ptr<http::metrics_server> metrics_;  // null: config::metrics_listen is empty
};

}  // namespace holdfast
