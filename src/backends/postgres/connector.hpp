// Makes sessions on threads of their own, because libpq looks up host names and reads files meanwhile.
#pragma once

#include "backends/postgres/session.hpp"
#include "io/reactor.hpp"

#include <functional>
#include <memory>
#include <variant>

namespace holdfast::postgres_backend {

// One session is made, unless it is destroyed before. On the reactor thread, except for construction.
class connector {
  public:
    using result = std::variant<made_session, sql_backend::failure>;

    // Calls `done` on the reactor thread, once, after this has returned.
    connector(io::reactor& reactor, session_options how, std::function<void(result)> done);
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

}  // namespace holdfast::postgres_backend
