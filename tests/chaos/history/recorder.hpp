// Writes down what a process does, so that it is still there when the process is killed in the middle of it.
#pragma once

#include "chaos/history/event.hpp"

#include <cstddef>
#include <filesystem>

namespace holdfast::chaos {

// A file that is mapped into memory: what was stored there is the kernel's to keep, whatever becomes of the
// process. Thread-safe but for construction and destruction.
class recorder {
  public:
    static constexpr std::size_t most_events = std::size_t{1} << 19;

    explicit recorder(const std::filesystem::path& file, std::size_t room = most_events);
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;
    ~recorder();

    // Does not block. Events beyond `room` are counted and not kept: read_events() throws then.
    void write(const event& e) noexcept;

  private:
    void* mapped_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t room_;
};

[[nodiscard]] time_ns boot_time() noexcept;

}  // namespace holdfast::chaos
