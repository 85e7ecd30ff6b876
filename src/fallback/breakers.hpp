// The breakers of a client, one for each server of its store that fails by itself: see store::server_of().
#pragma once

#include "base/annotations.hpp"
#include "fallback/breaker.hpp"
#include "fallback/wish.hpp"
#include "store/requests.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace holdfast::fallback {

// The store does not work, for nobody: no connection, no answer, or a server that cannot grant locks now.
[[nodiscard]] bool is_outage(const backend::attempt_answer& answer);

// A breaker that has opened, or has closed again. A probe that fails is no change.
struct breaker_change {
    std::string server;  // empty: the store is one server
    bool open;
    std::string why;  // a clause for people
    bool all_closed;  // none is open now
};

// Thread-safe; reads no clock.
class breakers {
  public:
    // `tell` gets the changes in their order. It is called with a mutex held, and must not wait for anything.
    breakers(std::shared_ptr<const wish> wished, std::function<void(breaker_change)> tell)
        : wished_(std::move(wished)), tell_(std::move(tell)) {}

    // Whether to send a request there now.
    [[nodiscard]] bool permits(const std::string& server, time_point now);
    void report(const std::string& server, const backend::attempt_answer& got, time_point now);
    // The store can be reached again.
    void hurry(time_point now);
    [[nodiscard]] bool all_are_closed();

  private:
    void forget_unused(time_point now) REQUIRES(mutex_);
    [[nodiscard]] bool none_is_open() const REQUIRES(mutex_);

    const std::shared_ptr<const wish> wished_;
    const std::function<void(breaker_change)> tell_;
    base::mutex mutex_;
    std::map<std::string, breaker> all_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::fallback
