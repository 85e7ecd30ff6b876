// Says whether the thread that sends a command will read its reply itself.
#pragma once

#include <utility>

namespace holdfast::redis {

// While one exists, this thread promises to `drive` right after its commands, so the reactor need not read
// their replies. Without it everything works too, but each reply wakes the reactor thread: right for callers
// that never drive. Costs nothing; nests.
class will_drive {
  public:
    will_drive() noexcept { ++depth(); }
    will_drive(const will_drive&) = delete;
    will_drive& operator=(const will_drive&) = delete;
    ~will_drive() { --depth(); }

    [[nodiscard]] static bool here() noexcept { return depth() > 0; }

  private:
    friend class will_not_drive;
    static int& depth() noexcept {
        static thread_local int n = 0;
        return n;
    }
};

// Suspends an outer will_drive: for commands to several servers, since a thread can drive only one.
class will_not_drive {
  public:
    will_not_drive() noexcept : outside_(std::exchange(will_drive::depth(), 0)) {}
    will_not_drive(const will_not_drive&) = delete;
    will_not_drive& operator=(const will_not_drive&) = delete;
    ~will_not_drive() { will_drive::depth() = outside_; }

  private:
    const int outside_;
};

}  // namespace holdfast::redis
