// Makes sessions on threads of their own, because drivers look up host names and read files meanwhile.
#pragma once

#include "backends/sql/connection.hpp"
#include "base/wake_fd.hpp"
#include "io/reactor.hpp"

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <variant>

namespace holdfast::sql_backend {

class session_error : public std::exception {
  public:
    explicit session_error(failure why) : why_(std::move(why)) {}
    [[nodiscard]] const failure& why() const noexcept { return why_; }
    [[nodiscard]] const char* what() const noexcept override { return why_.text.c_str(); }

  private:
    failure why_;
};

// Blocks until the session can be used, or `stop` becomes readable. Only the system's look-up of a host name
// cannot be stopped. Throws session_error.
using session_maker = std::function<std::shared_ptr<connection>(const base::wake_fd& stop)>;

// The server will not serve this client before an operator has done something.
[[nodiscard]] bool needs_operator(const std::error_code& code) noexcept;

// One session is made, unless it is destroyed before. On the reactor thread, except for construction.
class connector {
  public:
    using result = std::variant<std::shared_ptr<connection>, failure>;

    // Calls `done` on the reactor thread, once, after this has returned.
    connector(io::reactor& reactor, session_maker make, std::function<void(result)> done);
    connector(const connector&) = delete;
    connector& operator=(const connector&) = delete;
    ~connector();

  private:
    struct shared;
    std::shared_ptr<shared> with_thread_;
};

// How long to wait before the next try: longer each time, and randomized.
class pauses {
  public:
    [[nodiscard]] std::chrono::nanoseconds next(bool refused) noexcept;
    void reset() noexcept { tries_ = 0; }

  private:
    int tries_ = 0;
};

}  // namespace holdfast::sql_backend
