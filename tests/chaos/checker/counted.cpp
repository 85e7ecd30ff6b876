#include "chaos/checker/models.hpp"

#include <algorithm>
#include <map>

namespace holdfast::chaos {

namespace {

// The least number of permits that are held, over time.
class permits_out {
  public:
    explicit permits_out(const std::vector<firm_part>& parts) {
        std::map<time_ns, step> steps;
        for (const auto& p : parts) {
            if (p.empty()) continue;
            steps[p.from].more += p.of->permits;
            steps[p.to].fewer += p.of->permits;
        }
        std::int64_t out = 0;
        for (const auto& [t, s] : steps) {
            moments_.push_back({t, out - s.fewer, out - s.fewer + s.more});
            out = moments_.back().then;
        }
    }

    // Does not count parts that begin or end at this moment.
    [[nodiscard]] std::int64_t at(time_ns t) const {
        const auto m = std::lower_bound(moments_.begin(), moments_.end(), t,
                                        [](const moment& x, time_ns when) { return x.t < when; });
        if (m != moments_.end() && m->t == t) return m->at;
        return m == moments_.begin() ? 0 : std::prev(m)->then;
    }

  private:
    struct step {
        std::int64_t more = 0, fewer = 0;
    };
    struct moment {
        time_ns t;
        std::int64_t at;    // at `t` itself, after the ends and before the begins
        std::int64_t then;  // until the next
    };
    std::vector<moment> moments_;
};

}  // namespace

violations check_counted(std::span<const attempt> attempts, std::uint32_t permits) {
    violations found;
    const auto parts = firm_parts(attempts);
    std::multimap<time_ns, const firm_part*> out;  // by their end
    std::uint64_t sum = 0;
    for (const auto& p : parts) {
        if (p.empty()) continue;
        while (!out.empty() && out.begin()->first <= p.from) {
            sum -= out.begin()->second->of->permits;
            out.erase(out.begin());
        }
        out.emplace(p.to, &p);
        sum += p.of->permits;
        if (sum <= permits) continue;
        violation v{"too_many_holders",
                    std::to_string(sum) + " permits were held at once, of " + std::to_string(permits),
                    p.of->lock,
                    {},
                    p.from};
        for (const auto& [end, other] : out) v.holds.push_back(other->of->id);
        found.push_back(std::move(v));
    }
    const auto empty = [](const firm_part& p) { return p.empty(); };
    if (std::none_of(parts.begin(), parts.end(), empty)) return found;
    const permits_out over_time{parts};
    for (const auto& p : parts) {
        if (p.empty() && over_time.at(p.to) + p.of->permits > permits)
            found.push_back({"too_many_holders",
                             "permits were granted, if only for a moment, when there were too few",
                             p.of->lock,
                             {p.of->id},
                             p.to});
    }
    return found;
}

}  // namespace holdfast::chaos
