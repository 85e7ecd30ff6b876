// How long a lease may be believed. Counted from just before the request was sent, so that no delay on
// the way can make it too long, and shortened by what two clocks may drift apart meanwhile.
#pragma once

#include <holdfast/types.hpp>

#include <algorithm>

namespace holdfast::engine {

using time_point = boot_clock::time_point;
using std::chrono::milliseconds;

// `from + span`, or the end of time.
[[nodiscard]] inline time_point later(time_point from, boot_clock::duration span) noexcept {
    return span > time_point::max() - from ? time_point::max() : from + span;
}

struct validity {
    double drift = 0.01;
    milliseconds margin{2};

    [[nodiscard]] time_point deadline(time_point sent, milliseconds lease) const noexcept {
        const std::chrono::duration<double, std::milli> believed{static_cast<double>(lease.count()) *
                                                                 (1.0 - drift)};
        if (believed >= boot_clock::duration::max()) return time_point::max();
        if (believed <= margin) return sent;
        return later(sent, std::chrono::duration_cast<boot_clock::duration>(believed) - margin);
    }
};

}  // namespace holdfast::engine
