// How long a lease is valid. It counts from just before the request was sent, so that no network delay can
// make it too long, and is shortened by the possible drift between two clocks meanwhile.
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

// Shortens a lease by the possible drift between two clocks: a share of the lease, and a fixed time besides.
struct clock_margin {
    double drift = 0.01;
    milliseconds fixed{2};
};

// A request for a lease: when it was sent, and for how long. It travels to the handler of its answer, which
// computes every deadline from it: when the answer comes, the client may already want another lease.
class lease_request {
  public:
    constexpr lease_request(time_point sent, milliseconds lease) noexcept : sent_(sent), lease_(lease) {}

    [[nodiscard]] constexpr time_point sent() const noexcept { return sent_; }
    [[nodiscard]] constexpr milliseconds lease() const noexcept { return lease_; }
    // The same request, for a store that gave less than was asked for.
    [[nodiscard]] constexpr lease_request for_at_most(milliseconds given) const noexcept {
        return {sent_, std::min(lease_, given)};
    }

    // If the answer is yes, the lease is valid until then.
    [[nodiscard]] time_point deadline(const clock_margin& margin) const noexcept {
        const auto believed = lasts(1.0 - margin.drift);
        return believed <= margin.fixed ? sent_ : end(believed, -margin.fixed);
    }
    // Whatever the answer, the store may keep the lock until then: the request may take `on_its_way` to
    // arrive, and the server's clock may be the slower one.
    [[nodiscard]] time_point expires_by(const clock_margin& margin, milliseconds on_its_way) const noexcept {
        return end(lasts(1.0 + margin.drift), margin.fixed + on_its_way);
    }

    friend bool operator==(const lease_request&, const lease_request&) = default;

  private:
    [[nodiscard]] boot_clock::duration lasts(double share) const noexcept {
        const std::chrono::duration<double, std::milli> span{static_cast<double>(lease_.count()) * share};
        if (span >= boot_clock::duration::max()) return boot_clock::duration::max();
        return span.count() <= 0 ? boot_clock::duration::zero()
                                 : std::chrono::duration_cast<boot_clock::duration>(span);
    }
    [[nodiscard]] time_point end(boot_clock::duration span, milliseconds more) const noexcept {
        const auto ends = later(sent_, span);
        return ends == time_point::max() ? ends : later(ends, more);
    }

    time_point sent_;
    milliseconds lease_;
};

}  // namespace holdfast::engine
