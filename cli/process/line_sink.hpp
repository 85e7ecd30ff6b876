// Writes lines to a reader that may be slow or may not read at all.
#pragma once

#include "cli/process/unique_fd.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace holdfast::cli {

// put() never blocks: a full pipe must not keep us from ending a command that has lost its lock. Lines that
// do not fit are kept, up to max_kept bytes; further lines are dropped whole and counted.
//
// Thread safety: none.
class line_sink {
  public:
    static constexpr std::size_t max_kept = 64 * 1024;

    // Does not own `fd`: it writes to a duplicate, and works on if `fd` is closed.
    explicit line_sink(int fd);

    void put(std::string line);
    // Writes as much as the reader takes now. Call it if wants_to_write() and poll(fd(), POLLOUT) reports
    // room.
    void flush() noexcept;
    // Gives a slow reader this long to read the rest.
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
