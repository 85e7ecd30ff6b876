// Carries requests to the servers of an address, one at a time.
#pragma once

#include "base/annotations.hpp"
#include "nacos/address.hpp"
#include "nacos/libcurl.hpp"
#include "nacos/messages.hpp"

#include <holdfast/types.hpp>

#include <atomic>
#include <functional>
#include <memory>

namespace holdfast::nacos {

// One thread uses it, except for stop().
class http {
  public:
    // Opens libcurl, and throws if it is not there.
    explicit http(const address& to);
    http(const http&) = delete;
    http& operator=(const http&) = delete;

    // Blocks until the reply is there, for request::time_limit, or until stop().
    [[nodiscard]] reply ask(const request& what);
    // Blocks until then, or until stop().
    void wait_until(boot_clock::time_point then);

    // Closes the connections; nothing may be asked after it. A libcurl before 7.87 raises SIGPIPE when it
    // closes one in TLS that broke, so a thread with that signal blocked calls this.
    void close();

    // Thread-safe. Functions return at once from now on.
    void stop() noexcept;
    [[nodiscard]] bool stopped() const noexcept { return stopped_.load(); }

  private:
    void configure(const request& what, answer& into);
    // Waits for the network; false: it is stopped, or the time is up.
    [[nodiscard]] bool wait(boot_clock::time_point until);

    const address to_;
    const libcurl& curl_;
    std::atomic<bool> stopped_{false};
    base::mutex closing_;  // so that stop() does not wake what close() has destroyed
    std::unique_ptr<CURLM, std::function<void(CURLM*)>> multi_;  // keeps connections open
    std::unique_ptr<CURL, std::function<void(CURL*)>> easy_;
};

}  // namespace holdfast::nacos
