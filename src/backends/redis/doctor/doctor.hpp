// Examines all servers of a store for dangers to locks.
#pragma once

#include "backends/redis/doctor/temporary_connections.hpp"
#include "redis/database.hpp"
#include "store/inspection.hpp"

#include <string>

namespace holdfast::redis_backend::doctor {

// Thread-safe. Changes nothing on the servers.
class doctor {
  public:
    // `url` and the reactor must outlive the doctor.
    doctor(io::reactor&, const std::string& url);

    // A failure means that no server can be asked at all. `db` is the connection to the URL and outlives the
    // answer; `patience` limits the wait for one answer of a server.
    void examine(redis::database& db, const backend::examine_request&, backend::time_point deadline,
                 std::chrono::milliseconds patience, backend::handler<backend::result<examination>> done);

    // Call it before `db` is destroyed. See temporary_connections.
    void close() { connections_.close(); }
    void abandon() noexcept { connections_.abandon(); }

  private:
    const std::string& url_;
    temporary_connections connections_;
};

}  // namespace holdfast::redis_backend::doctor
