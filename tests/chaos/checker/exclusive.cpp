#include "chaos/checker/models.hpp"
#include "chaos/checker/moments.hpp"

namespace holdfast::chaos {

violations check_exclusive(std::span<const attempt> attempts) {
    violations found;
    const auto parts = firm_parts(attempts);
    occupied_times taken;
    const firm_part* last = nullptr;  // the part so far that ends last
    for (const auto& p : parts) {
        if (p.empty()) continue;
        if (last != nullptr && p.from < last->to)
            found.push_back({"two_holders",
                             "two leases were valid at once",
                             p.of->lock,
                             {last->of->id, p.of->id},
                             p.from});
        if (last == nullptr || p.to > last->to) last = &p;
        taken.add(p.from, p.to);
    }
    for (const auto& p : parts) {
        if (p.empty() && taken.covers(p.to))
            found.push_back({"two_holders",
                             "a lease was granted, if only for a moment, while another one was valid",
                             p.of->lock,
                             {p.of->id},
                             p.to});
    }
    return found;
}

}  // namespace holdfast::chaos
