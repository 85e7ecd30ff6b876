// A clock that can be set wrong for one process, such as a server.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::lab {

// A library that stands before the C library in that process and adds to what the system's clock says. Only
// the clock of the wall is meant; time that is measured (CLOCK_MONOTONIC and the like) stays right.
class false_clock {
  public:
    // Its files have this name in the folder. Throws std::system_error.
    false_clock(const std::filesystem::path& folder, std::string_view name);
    false_clock(const false_clock&) = delete;
    false_clock& operator=(const false_clock&) = delete;
    ~false_clock();

    // What the process must find in its environment: NAME=VALUE.
    [[nodiscard]] std::vector<std::string> environment() const;
    // From now on it is so much further ahead.
    void step(std::chrono::microseconds by);

  private:
    int library_ = -1;  // in memory: a folder may not allow programs in it
    std::filesystem::path offset_;
    void* shared_ = nullptr;  // the offset, mapped by the process too
};

}  // namespace holdfast::lab
