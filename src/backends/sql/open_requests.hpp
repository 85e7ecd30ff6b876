// How many requests of a store have no answer yet.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace holdfast::sql_backend {

// A request counts until the last copy of what count() gave is gone. Its handlers keep one, so an exception
// that takes the handlers ends it, too. Thread-safe.
class open_requests {
  public:
    class counted {
      public:
        explicit counted(std::atomic<std::size_t>& all) noexcept : all_(all) { all_.fetch_add(1); }
        counted(const counted&) = delete;
        counted& operator=(const counted&) = delete;
        ~counted() { all_.fetch_sub(1); }

      private:
        std::atomic<std::size_t>& all_;
    };

    [[nodiscard]] std::shared_ptr<const counted> count() { return std::make_shared<const counted>(all_); }
    [[nodiscard]] bool any() const noexcept { return all_.load() != 0; }

  private:
    std::atomic<std::size_t> all_{0};
};

}  // namespace holdfast::sql_backend
