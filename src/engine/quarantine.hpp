// The quarantine of a server that may not remember all the locks that it granted. A server that restarted
// without its data, or was promoted before it had received all locks, has forgotten some; its vote would let
// a second holder in. So its vote does not count until the longest lease that it may have forgotten is over.
// The clients do what the Redis documentation calls delayed restarts.
#pragma once

#include "engine/validity.hpp"

#include <algorithm>
#include <string>

namespace holdfast::engine {

struct quarantine_settings {
    milliseconds longest_lease{60'000};
    bool enabled = true;  // false: by configuration, the servers lose nothing (appendfsync always)
};

// Of one server.
class quarantine {
  public:
    explicit quarantine(const quarantine_settings& how) : how_(how) {}

    // The client connected to this run of the server. `promotion` names the last promotion that made it a
    // master, and is empty if it has been one since its start. `uptime` is by the server's own wall clock,
    // which may have been set: an impossible value counts as just started.
    //
    // The uptime counts for nothing if this run replaces one that was known before: a server that ran all
    // along and took over the address a moment ago has none of the locks either.
    void on_connected(const std::string& run_id, std::chrono::seconds uptime, time_point now,
                      const std::string& promotion = {}) {
        anonymous_ = run_id.empty();
        // A missing promotion is the old one: the server has forgotten its former history.
        if (anonymous_ || (run_id == run_id_ && (promotion.empty() || promotion == promotion_))) return;
        const bool first = run_id_.empty();
        run_id_ = run_id;
        promotion_ = promotion;
        restart(now);
        if (first && promotion.empty()) began_before(run_id, least_elapsed(uptime), now);
    }
    // Another source knew the server's present run and role at least this long before `now`.
    void began_before(const std::string& run_id, milliseconds ago, time_point now) {
        if (anonymous_ || run_id != run_id_) return;
        ends_at_ = std::min(ends_at_, later(now, std::max(length() - ago, milliseconds{0})));
    }
    // The least time between two readings of a clock of whole seconds. An impossible difference counts as
    // zero.
    [[nodiscard]] static std::chrono::seconds least_elapsed(std::chrono::seconds by_its_clock) {
        const bool possible = by_its_clock.count() > 0 && by_its_clock < std::chrono::hours{24} * 36'500;
        return possible ? by_its_clock - std::chrono::seconds{1} : std::chrono::seconds{0};
    }
    // From now on nothing is known about what the server remembers.
    void restart(time_point now) { ends_at_ = how_.enabled ? later(now, length()) : now; }

    // The quarantine of an anonymous server never ends.
    [[nodiscard]] bool has_ended(time_point now) const noexcept { return !anonymous_ && now >= ends_at_; }
    // The server does not report which run it is, so its vote never counts, with or without quarantines: it
    // could be a restarted server, or another member listed twice.
    [[nodiscard]] bool anonymous() const noexcept { return anonymous_; }
    [[nodiscard]] time_point ends_at() const noexcept { return ends_at_; }
    [[nodiscard]] const std::string& run_id() const noexcept { return run_id_; }
    [[nodiscard]] const std::string& promotion() const noexcept { return promotion_; }

  private:
    // The longest lease, by a clock that may be slower than the holder's.
    [[nodiscard]] milliseconds length() const {
        return how_.longest_lease + how_.longest_lease / 100 + milliseconds{2};
    }

    const quarantine_settings how_;
    std::string run_id_;
    std::string promotion_;
    bool anonymous_ = false;
    time_point ends_at_{};
};

}  // namespace holdfast::engine
