#include "chaos/checker/models.hpp"

#include <algorithm>
#include <map>

namespace holdfast::chaos {

namespace {

// When an attempt may have had the lock, or a part of it, in the store.
struct stay {
    time_ns from;
    time_ns to;
    std::uint64_t id;
    std::uint32_t permits;
};

// The stays of attempts, to be searched by any span of time.
class stay_index {
  public:
    void add(const stay& s) { stays_.push_back(s); }
    void settle() {
        std::sort(stays_.begin(), stays_.end(), [](const stay& a, const stay& b) { return a.from < b.from; });
        for (const auto& s : stays_) {
            ends_.emplace_back(s.to, s.permits);
            arrived_.push_back(s.permits + (arrived_.empty() ? 0 : arrived_.back()));
            auto top = longest_.empty() ? two{} : longest_.back();
            if (s.to > top.first)
                top = {s.to, s.id, top.first};
            else
                top.second = std::max(top.second, s.to);
            longest_.push_back(top);
        }
        std::sort(ends_.begin(), ends_.end());
        for (const auto& [t, permits] : ends_) left_.push_back(permits + (left_.empty() ? 0 : left_.back()));
    }

    // Whether there was a stay other than that of `self`.
    [[nodiscard]] bool anybody(time_ns from, time_ns to, std::uint64_t self) const {
        const auto n = arrived_by(to);
        if (n == 0) return false;
        const auto& top = longest_[n - 1];
        return (top.whose == self ? top.second : top.first) >= from;
    }
    // The permits of all stays in this span; not fewer than were held at any moment of it.
    [[nodiscard]] std::uint64_t permits(time_ns from, time_ns to) const {
        const auto n = arrived_by(to);
        const auto gone = static_cast<std::size_t>(
            std::lower_bound(ends_.begin(), ends_.end(), std::pair<time_ns, std::uint32_t>{from, 0}) -
            ends_.begin());
        return (n == 0 ? 0 : arrived_[n - 1]) - (gone == 0 ? 0 : left_[gone - 1]);
    }

  private:
    // The two latest ends, and the attempt of the first.
    struct two {
        time_ns first = long_ago;
        std::uint64_t whose = 0;
        time_ns second = long_ago;
    };

    [[nodiscard]] std::size_t arrived_by(time_ns t) const {
        const auto it = std::upper_bound(stays_.begin(), stays_.end(), t,
                                         [](time_ns x, const stay& s) { return x < s.from; });
        return static_cast<std::size_t>(it - stays_.begin());
    }

    std::vector<stay> stays_;
    std::vector<two> longest_;  // of the stays up to this one
    std::vector<std::uint64_t> arrived_;
    std::vector<std::pair<time_ns, std::uint32_t>> ends_;
    std::vector<std::uint64_t> left_;
};

class stay_times {
  public:
    stay_times(const std::vector<fault>& faults, const presence& how, bool by_votes)
        : how_(how), by_votes_(by_votes) {
        time_ns latest = long_ago;
        for (const auto& f : faults) {
            latest = std::max(latest, f.to);
            begun_.push_back(f.from);
            over_.push_back(latest);
            if (f.killed != 0) killed_[f.killed] = f.from;
        }
    }

    [[nodiscard]] stay of(const attempt& a) const { return {a.asked, end_of(a), a.id, a.permits}; }

  private:
    [[nodiscard]] time_ns end_of(const attempt& a) const {
        time_ns last = a.held() ? a.release_answered : a.answered;
        if (last == never) {
            const auto death = killed_.find(a.process);
            return death == killed_.end() ? never : linger(a, death->second);
        }
        const bool clean = a.held() ? a.release == phase::ok : a.answer == phase::busy;
        if (!clean || trouble_until(last) >= a.asked) return linger(a, std::max(last, a.believed));
        return !by_votes_ && (a.held() || a.wait == 0) ? last : last + how_.undone_after;
    }
    [[nodiscard]] time_ns linger(const attempt& a, time_ns last) const {
        const auto until = trouble_until(last);
        return (until >= a.asked ? std::max(until, last) : last) + how_.linger;
    }
    // The end of all faults that had begun by then.
    [[nodiscard]] time_ns trouble_until(time_ns t) const {
        const auto n = std::upper_bound(begun_.begin(), begun_.end(), t) - begun_.begin();
        return n == 0 ? long_ago : over_[static_cast<std::size_t>(n - 1)];
    }

    presence how_;
    bool by_votes_;  // votes that are too few or more than needed are released a moment later
    std::vector<time_ns> begun_, over_;
    std::map<std::uint32_t, time_ns> killed_;
};

}  // namespace

violations check_refusals(std::span<const attempt> attempts, const lock_row& lock,
                          const std::vector<fault>& faults, const presence& how) {
    const stay_times present{faults, how, lock.by_votes};
    stay_index all, writers;
    std::map<std::uint32_t, stay_index> of_process;
    for (const auto& a : attempts) {
        const auto s = present.of(a);
        of_process[a.process].add(s);
        // A single try that was refused had nothing; by votes, it may have had some.
        if (a.answer == phase::busy && a.wait == 0 && !lock.by_votes) continue;
        all.add(s);
        if (a.side == side::writer) writers.add(s);
    }
    all.settle();
    writers.settle();
    for (auto& [process, threads] : of_process) threads.settle();

    const auto foreign_program_may_have_it = [&](const attempt& a) {
        return std::any_of(faults.begin(), faults.end(), [&](const fault& f) {
            return f.foreign && f.from <= a.answered && f.to >= a.asked;
        });
    };

    violations found;
    for (const auto& a : attempts) {
        if (a.answer != phase::busy || foreign_program_may_have_it(a)) continue;
        if (of_process[a.process].anybody(a.asked, a.answered, a.id)) continue;
        if (lock.model == model::counted) {
            const auto own = a.wait == 0 ? 0 : a.permits;
            if (all.permits(a.asked, a.answered) - own + a.permits > lock.permits) continue;
        } else if ((a.side == side::reader ? writers : all).anybody(a.asked, a.answered, a.id)) {
            continue;
        }
        found.push_back(
            {"spurious_no", "\"no\" although nobody can have had the lock", a.lock, {a.id}, a.answered});
    }
    return found;
}

}  // namespace holdfast::chaos
