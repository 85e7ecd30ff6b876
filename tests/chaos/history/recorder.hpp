// Records what a process does. The record survives when the process is killed.
#pragma once

#include "chaos/history/event.hpp"

#include <cstddef>
#include <filesystem>

namespace holdfast::chaos {

// A file that is mapped into memory: the kernel keeps what was stored there, whatever happens to the
// process. Thread-safe except for construction and destruction.
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
