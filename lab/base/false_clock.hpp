// A clock that can be set wrong for one process, such as a server.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::lab {

// A library that is loaded before the C library in that process and adds an offset to the wall clock. Other
// clocks (CLOCK_MONOTONIC and the like) stay right.
class false_clock {
  public:
    // Its files have this name in the folder. Throws std::system_error.
    false_clock(const std::filesystem::path& folder, std::string_view name);
    false_clock(const false_clock&) = delete;
    false_clock& operator=(const false_clock&) = delete;
    ~false_clock();

    // Variables for the environment of the process: NAME=VALUE.
    [[nodiscard]] std::vector<std::string> environment() const;
    // Moves the clock forward by this much.
    void step(std::chrono::microseconds by);

  private:
    int library_ = -1;  // in memory: a folder may forbid executable files
    std::filesystem::path offset_;
    void* shared_ = nullptr;  // the offset, mapped by the process too
};

}  // namespace holdfast::lab
