// Whether a server may be relied on to remember the locks that it granted. One that came back without its
// data, or was promoted before it had heard of all locks, has forgotten some; its word would let a second
// holder in. So it is not counted until the longest lease that it may have forgotten is over. What the Redis
// documentation calls delayed restarts, done by the clients.
#pragma once

#include "engine/validity.hpp"

#include <algorithm>
#include <string>

namespace holdfast::engine {

struct standing_rules {
    milliseconds longest_lease{60'000};
    bool quarantine = true;  // false: the servers lose nothing (appendfsync always), says who configured us
};

class standing {
  public:
    explicit standing(const standing_rules& rules) : rules_(rules) {}

    // A connection was made to this run of the server; `promotion` names the last one that made it a master,
    // and is empty if it has been one since it was started. `uptime` is of its own wall clock, which may have
    // been set: what cannot be true counts as just started.
    //
    // The uptime of a run that is met for the first time in place of another says nothing: a server that was
    // there all along and took over the address a moment ago has none of the locks either.
    void met(const std::string& run_id, std::chrono::seconds uptime, time_point now,
             const std::string& promotion = {}) {
        anonymous_ = run_id.empty();
        // A promotion that is not told any more is the old one: the server has forgotten its former history.
        if (anonymous_ || (run_id == run_id_ && (promotion.empty() || promotion == promotion_))) return;
        const bool first = run_id_.empty();
        run_id_ = run_id;
        promotion_ = promotion;
        begins_anew(now);
        if (first && promotion.empty()) began_before(run_id, at_least(uptime), now);
    }
    // Somebody knew it as what it was met as, so long before `now` at least.
    void began_before(const std::string& run_id, milliseconds ago, time_point now) {
        if (anonymous_ || run_id != run_id_) return;
        counts_from_ = std::min(counts_from_, later(now, std::max(sentence() - ago, milliseconds{0})));
    }
    // Two looks at a clock of whole seconds that are so far apart: at least. What cannot be is nothing.
    [[nodiscard]] static std::chrono::seconds at_least(std::chrono::seconds by_its_clock) {
        const bool possible = by_its_clock.count() > 0 && by_its_clock < std::chrono::hours{24} * 36'500;
        return possible ? by_its_clock - std::chrono::seconds{1} : std::chrono::seconds{0};
    }
    // From now on nobody can say what it remembers, whatever it was met as.
    void begins_anew(time_point now) { counts_from_ = rules_.quarantine ? later(now, sentence()) : now; }

    [[nodiscard]] bool counts(time_point now) const noexcept { return !anonymous_ && now >= counts_from_; }
    // It does not say which run of the server it is, and so never counts, trusted or not: nobody could tell
    // whether it is a restarted one, or another member once more.
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
