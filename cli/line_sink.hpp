// Lines for somebody who may read slowly or not at all.
#pragma once

#include "cli/unique_fd.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace holdfast::cli {

// put() never blocks: a full pipe must not keep us from ending a command that has lost its lock. What does
// not fit is kept, up to max_kept bytes; lines beyond that are dropped whole and counted.
//
// Thread safety: none.
class line_sink {
  public:
    static constexpr std::size_t max_kept = 64 * 1024;

    // Does not own `fd`, but stays usable if it is closed: it writes to a duplicate.
    explicit line_sink(int fd);

    void put(std::string line);
    // Writes what the reader takes now. Call it when wants_to_write() and poll(fd(), POLLOUT) says so.
    void flush() noexcept;
    // Gives a slow reader this long to take the rest.
    void finish(std::chrono::milliseconds patience) noexcept;

    [[nodiscard]] bool wants_to_write() const noexcept { return !kept_.empty(); }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] std::size_t dropped() const noexcept { return dropped_; }

  private:
    [[nodiscard]] bool ready(int timeout_ms) const noexcept;

    unique_fd fd_;
    std::string kept_;
    std::size_t dropped_ = 0;
};

}  // namespace holdfast::cli
