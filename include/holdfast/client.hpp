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
class core;
}

// Make one per process and store, and keep it longer than the locks made from it. It has a thread for
// I/O and renewals, a thread that runs the callbacks of lease::lost(), and a thread for each listener.
//
// Thread safety: all members may be called from any threads at once.
// fork(): a client is dead in the child; every call there throws errc::forked, destructors do nothing.
// Lifetime: the destructor turns away threads that wait for a lock (errc::closed), gives back what is still
// held and runs the callbacks that are due. All of that takes at most config::close_timeout. No callback
// starts after the destructor has returned; one that blocks longer ends when it ends.
class HOLDFAST_API client {
  public:
    // Does not block: connecting goes on in the background, and the first call that needs the store
    // waits for it. Throws holdfast::error (errc::invalid_argument) for a URL or setting it cannot use, and
    // std::system_error if the system has no thread or descriptor left.
    explicit client(std::string_view url);
    explicit client(const char* url) : client(std::string_view{url}) {}
    explicit client(config settings);
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    ~client();

    // Calls `tell` for each event, one after another, on a thread of this listener's own, and first for how
    // things stand with the store (store_up, store_down, eviction_risk, no_channel_right, quorum_...).
    // A slow `tell` delays no other listener and no lease::lost(); 65,536 events wait for it, what comes then
    // is dropped, and an event events_dropped says so. Exceptions from `tell` are swallowed. Keep the result
    // as long as you want to listen. Throws std::system_error if the system has no thread left.
    [[nodiscard]] event_subscription on_event(std::function<void(const event&)> tell);

    [[nodiscard]] client_stats stats() const;
    [[nodiscard]] const config& settings() const noexcept;
    // What the locks of this client promise at most.
    [[nodiscard]] strength gives() const noexcept;

    // For the library's own parts.
    [[nodiscard]] const std::shared_ptr<session::core>& session() const noexcept { return core_; }

  private:
    std::shared_ptr<session::core> core_;
};

}  // namespace holdfast
