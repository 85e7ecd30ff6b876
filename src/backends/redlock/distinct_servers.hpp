// Numbers the servers that have answered, because two addresses may lead to one server.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::redlock_backend {

// Each server gets a number below most_members. Not thread-safe.
class distinct_servers {
  public:
    // `server` is its name: see members::server_of.
    std::size_t number_of(std::string server) {
        const auto known = std::find(servers_.begin(), servers_.end(), server);
        if (known != servers_.end()) return static_cast<std::size_t>(known - servers_.begin());
        servers_.push_back(std::move(server));
        return servers_.size() - 1;
    }
    // False if the server was there already.
    bool insert(std::string server) {
        const auto so_far = servers_.size();
        return number_of(std::move(server)) == so_far;
    }

  private:
    std::vector<std::string> servers_;
};

}  // namespace holdfast::redlock_backend
