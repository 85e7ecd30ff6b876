// pgbouncer before a PostgreSQL server, for one test.
#pragma once

#include "support/child_process.hpp"
#include "support/eventually.hpp"
#include "support/loopback.hpp"
#include "support/postgres_server.hpp"

#include <optional>
#include <string>

namespace holdfast::test {

// Gives each transaction to any of its sessions. The constructor returns when it answers; the destructor ends
// it. Throws std::runtime_error if it does not start.
class postgres_pooler {
  public:
    explicit postgres_pooler(const postgres_server& before);
    postgres_pooler(const postgres_pooler&) = delete;
    postgres_pooler& operator=(const postgres_pooler&) = delete;
    ~postgres_pooler() = default;

    // As postgres_server::url(). Every user is holdfast.
    [[nodiscard]] std::string url() const;

  private:
    temp_dir directory_;
    reserved_port port_;
    std::optional<child_process> process_;
};

}  // namespace holdfast::test
