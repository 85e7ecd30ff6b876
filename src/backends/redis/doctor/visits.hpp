// Short-lived connections to servers to which a client has none, such as sentinels and replicas: each serves
// one survey.
#pragma once

#include "backends/redis/doctor/asking.hpp"
#include "io/reactor.hpp"
#include "redis/config/node_config.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::redis_backend::doctor {

struct visit {
    redis::node_config to;
    inquiry what;
};
struct visited {
    std::string address;
    part as;
    seen found;
};

// Thread-safe. The reactor must outlive it.
class visits {
  public:
    explicit visits(io::reactor&);
    visits(const visits&) = delete;
    visits& operator=(const visits&) = delete;
    ~visits();

    // Makes all visits at once. Calls `done` with the results in the order of the visits, on the reactor
    // thread or, if there are no visits, at once. Does not retry a server that refuses the connection.
    void make(std::vector<visit>, std::function<void(std::vector<visited>)> done);

    // Visits under way end with errc::closed before this returns. Do not call it on the reactor thread.
    void close();
    // See node::abandon.
    void abandon() noexcept;

  private:
    class party;
    struct all;
    std::shared_ptr<all> all_;
};

}  // namespace holdfast::redis_backend::doctor
