#include "chaos/checker/models.hpp"
#include "chaos/checker/moments.hpp"

namespace holdfast::chaos {

violations check_shared(std::span<const attempt> attempts) {
    violations found;
    const auto parts = firm_parts(attempts);
    occupied_times written, taken;
    const firm_part* last_writer = nullptr;  // the part so far that ends last
    const firm_part* last = nullptr;
    const auto overlaps = [&](const firm_part* earlier, const firm_part& p) {
        if (earlier != nullptr && p.from < earlier->to)
            found.push_back({"writer_not_alone",
                             "a writer's lease was valid at the same time as another's",
                             p.of->lock,
                             {earlier->of->id, p.of->id},
                             p.from});
    };
    for (const auto& p : parts) {
        if (p.empty()) continue;
        const bool writes = p.of->side == side::writer;
        overlaps(writes ? last : last_writer, p);
        if (last == nullptr || p.to > last->to) last = &p;
        taken.add(p.from, p.to);
        if (!writes) continue;
        if (last_writer == nullptr || p.to > last_writer->to) last_writer = &p;
        written.add(p.from, p.to);
    }
    for (const auto& p : parts) {
        const auto& in_the_way = p.of->side == side::writer ? taken : written;
        if (p.empty() && in_the_way.covers(p.to))
            found.push_back({"writer_not_alone",
                             "a lease was granted, if only for a moment, while a writer's was valid",
                             p.of->lock,
                             {p.of->id},
                             p.to});
    }
    return found;
}

}  // namespace holdfast::chaos
