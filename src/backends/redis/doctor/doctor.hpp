// Looks at all servers of a store for what endangers locks.
#pragma once

#include "backends/redis/doctor/visits.hpp"
#include "redis/database.hpp"
#include "store/inspection.hpp"

#include <string>

namespace holdfast::redis_backend::doctor {

// Thread-safe. Changes nothing on the servers.
class doctor {
  public:
    // `url` and the reactor outlive it.
    doctor(io::reactor&, const std::string& url);

    // A failure means that there is no server that could be asked at all. `db` is the URL's own and outlives
    // the answer; one answer of a server is waited for as long as `patience`.
    void examine(redis::database& db, const backend::examine_request&, backend::time_point deadline,
                 std::chrono::milliseconds patience, backend::handler<backend::result<examination>> done);

    // Before `db` ends. See visits.
    void close() { visits_.close(); }
    void abandon() noexcept { visits_.abandon(); }

  private:
    const std::string& url_;
    visits visits_;
};

}  // namespace holdfast::redis_backend::doctor
