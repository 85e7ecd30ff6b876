// A disk on which each fdatasync() of a server takes longer.
#pragma once

#include "support/child_process.hpp"
#include "support/eventually.hpp"

#include <chrono>

namespace holdfast::bench {

// Lives longer than the server that is started with its environment. Only for servers that sync by
// fdatasync(), as PostgreSQL does on Linux.
class slow_disk {
  public:
    explicit slow_disk(std::chrono::microseconds by);
    [[nodiscard]] test::child_process::environment environment() const;
    [[nodiscard]] std::chrono::microseconds by() const noexcept { return by_; }

  private:
    std::chrono::microseconds by_;
    test::temp_dir folder_;
};

}  // namespace holdfast::bench
