// For a test that misuses a lock on purpose: counts the misuse that would end the process.
#pragma once

#include "base/misuse.hpp"

#include <atomic>

namespace holdfast::test {

// At most one object may exist at a time.
class misuse_expected {
  public:
    misuse_expected() : before_{base::on_misuse([](const char*) noexcept { ++count_; })} { count_ = 0; }
    misuse_expected(const misuse_expected&) = delete;
    misuse_expected& operator=(const misuse_expected&) = delete;
    ~misuse_expected() { base::on_misuse(before_); }

    [[nodiscard]] static int count() { return count_; }

  private:
    base::misuse_handler before_;
    static inline std::atomic<int> count_{0};
};

}  // namespace holdfast::test
