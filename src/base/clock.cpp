#include "base/clock.hpp"

#include <holdfast/types.hpp>

#include <algorithm>

namespace holdfast::base {

std::int64_t wall_microseconds() noexcept {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

namespace {

using std::chrono::microseconds;

// The time that an unlucky thread loses between two instructions must not look like a step.
constexpr int readings = 5;
constexpr microseconds unremarkable{5'000};

microseconds boot_microseconds() noexcept {
    return std::chrono::duration_cast<microseconds>(boot_clock::now().time_since_epoch());
}

}  // namespace

// The most precise of a few readings.
step_watch::reading step_watch::offset_now() noexcept {
    reading best{microseconds{0}, microseconds::max()};
    for (int i = 0; i < readings; ++i) {
        const auto before = boot_microseconds();
        const microseconds wall{wall_microseconds()};
        const auto after = boot_microseconds();
        if (after - before < best.error) best = {wall - before - (after - before) / 2, after - before};
    }
    return best;
}

microseconds step_watch::stepped() const noexcept {
    const auto now = offset_now();
    const auto by = now.offset - before_.offset;
    const auto doubt = unremarkable + std::max(now.error, before_.error);
    return std::chrono::abs(by) > doubt ? by : microseconds{0};
}

}  // namespace holdfast::base
