#include "base/clock.hpp"

#include <chrono>

namespace holdfast::base {

std::int64_t wall_microseconds() noexcept {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace holdfast::base
