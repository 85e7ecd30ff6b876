// Small tools that nearly every test of the outside world needs: a wait for a condition, a directory for
// files, and counts that show leaks.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <thread>

namespace holdfast::test {

// The limit for everything that must happen, in fixtures and tests alike. It is far beyond what the slowest
// machine needs, so a test that reaches it has found a fault. A test that needs something soon states its
// own, shorter limit and why.
inline constexpr std::chrono::milliseconds patience{180'000};

// Calls `predicate` until it returns true; false if it does not within `limit`. No other place in the tests
// sleeps: where a test can wait for an event, wait for the event. The limit is `patience`, unless the test is
// about time.
template <class Predicate>
[[nodiscard]] bool eventually(std::chrono::milliseconds limit, Predicate&& predicate) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    auto pause = std::chrono::microseconds{200};
    while (!predicate()) {
        if (std::chrono::steady_clock::now() >= deadline) return static_cast<bool>(predicate());
        std::this_thread::sleep_for(pause);
        if (pause < std::chrono::milliseconds{10}) pause *= 2;
    }
    return true;
}

// A new directory under TMPDIR or /tmp, removed with its contents. The path is short, because the path of a
// unix socket may have 107 bytes at most.
class temp_dir {
  public:
    temp_dir();
    ~temp_dir();
    temp_dir(const temp_dir&) = delete;
    temp_dir& operator=(const temp_dir&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  private:
    std::filesystem::path path_;
};

// The counts of this process now. A thread that was just joined may still count for a moment: compare with
// `eventually`. Thread sanitizer starts a thread of its own with our first one.
[[nodiscard]] std::size_t count_open_fds();
[[nodiscard]] std::size_t count_threads();

}  // namespace holdfast::test
