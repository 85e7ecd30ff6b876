// Whether a server can be relied on to remember the locks that it granted. A server that restarted without
// its data, or was promoted before it had received all locks, has forgotten some; its vote would let a second
// holder in. So it is in quarantine, and its vote does not count, until the longest lease that it may have
// forgotten is over. The clients do what the Redis documentation calls delayed restarts.
#pragma once

#include "engine/validity.hpp"

#include <algorithm>
#include <string>

namespace holdfast::engine {

struct standing_rules {
    milliseconds longest_lease{60'000};
    bool quarantine = true;  // false: by configuration, the servers lose nothing (appendfsync always)
};

class standing {
  public:
    explicit standing(const standing_rules& rules) : rules_(rules) {}

    // The client connected to this run of the server. `promotion` names the last promotion that made it a
    // master, and is empty if it has been one since its start. `uptime` is by the server's own wall clock,
    // which may have been set: an impossible value counts as just started.
    //
    // The uptime counts for nothing if this run replaces one that was known before: a server that ran all
    // along and took over the address a moment ago has none of the locks either.
    void met(const std::string& run_id, std::chrono::seconds uptime, time_point now,
             const std::string& promotion = {}) {
        anonymous_ = run_id.empty();
        // A missing promotion is the old one: the server has forgotten its former history.
        if (anonymous_ || (run_id == run_id_ && (promotion.empty() || promotion == promotion_))) return;
        const bool first = run_id_.empty();
        run_id_ = run_id;
        promotion_ = promotion;
        begins_anew(now);
        if (first && promotion.empty()) began_before(run_id, at_least(uptime), now);
    }
    // Another source knew the server's present run and role at least this long before `now`.
    void began_before(const std::string& run_id, milliseconds ago, time_point now) {
        if (anonymous_ || run_id != run_id_) return;
        counts_from_ = std::min(counts_from_, later(now, std::max(sentence() - ago, milliseconds{0})));
    }
    // The least time between two readings of a clock of whole seconds. An impossible difference counts as
    // zero.
    [[nodiscard]] static std::chrono::seconds at_least(std::chrono::seconds by_its_clock) {
        const bool possible = by_its_clock.count() > 0 && by_its_clock < std::chrono::hours{24} * 36'500;
        return possible ? by_its_clock - std::chrono::seconds{1} : std::chrono::seconds{0};
    }
    // Starts the quarantine again: from now on nothing is known about what the server remembers.
    void begins_anew(time_point now) { counts_from_ = rules_.quarantine ? later(now, sentence()) : now; }

    [[nodiscard]] bool counts(time_point now) const noexcept { return !anonymous_ && now >= counts_from_; }
    // The server does not report which run it is, so its vote never counts, trusted or not: it could be a
    // restarted server, or another member listed twice.
    [[nodiscard]] bool anonymous() const noexcept { return anonymous_; }
    [[nodiscard]] time_point counts_from() const noexcept { return counts_from_; }
    [[nodiscard]] const std::string& run_id() const noexcept { return run_id_; }
    [[nodiscard]] const std::string& promotion() const noexcept { return promotion_; }

  private:
    // The longest lease, by a clock that may be slower than the holder's.
    [[nodiscard]] milliseconds sentence() const {
        return rules_.longest_lease + rules_.longest_lease / 100 + milliseconds{2};
    }

    const standing_rules rules_;
    std::string run_id_;
    std::string promotion_;
    bool anonymous_ = false;
    time_point counts_from_{};
};

}  // namespace holdfast::engine
