// Answers GET /metrics, on a thread of its own: locks do not wait for a slow scraper.
#pragma once

#include "http/listening_socket.hpp"

#include <holdfast/metrics.hpp>

#include <functional>
#include <string>
#include <string_view>

struct MHD_Daemon;

namespace holdfast::http {

class metrics_server {
  public:
    // Returns the text to answer with. Called on the server's thread; nothing is answered if it throws.
    using source = std::function<std::string(metrics_format)>;

    // Listens when this returns. Throws as listen_on(), and std::system_error if the system has no thread or
    // descriptor left.
    metrics_server(std::string_view address, source text);
    metrics_server(const metrics_server&) = delete;
    metrics_server& operator=(const metrics_server&) = delete;
    // Ends the answers under way. Not in a forked child, which has no such thread: leave the server there.
    ~metrics_server();

    [[nodiscard]] const std::string& address() const noexcept { return socket_.address; }
    [[nodiscard]] std::string text(metrics_format as) const { return text_(as); }

  private:
    const source text_;
    listening_socket socket_;
    MHD_Daemon* daemon_ = nullptr;
};

}  // namespace holdfast::http
