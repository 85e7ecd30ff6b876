#include "lab/ladder.hpp"

#include "lab/rungs/rungs.hpp"

#include <algorithm>
#include <array>

namespace holdfast::lab {

std::span<const rung> ladder() {
    static const std::array rungs{bronze_rung(),  silver_rung(),    gold_rung(),        platinum_rung(),
                                  diamond_rung(), counter_rung(),   counter_lua_rung(), redisson_rung(),
                                  replica_rung(), multilock_rung(), redlock_rung(),     fallback_rung(),
                                  table_rung(),   holdfast_rung()};
    return rungs;
}

const rung* find_rung(std::string_view name) {
    const auto rungs = ladder();
    const auto found = std::ranges::find(rungs, name, &rung::name);
    return found == rungs.end() ? nullptr : &*found;
}

}  // namespace holdfast::lab
