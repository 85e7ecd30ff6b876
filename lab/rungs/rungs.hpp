// Each rung is a file of this folder.
#pragma once

#include "lab/rungs/rung.hpp"

namespace holdfast::lab {

[[nodiscard]] rung bronze_rung();
[[nodiscard]] rung silver_rung();
[[nodiscard]] rung gold_rung();
[[nodiscard]] rung platinum_rung();
[[nodiscard]] rung diamond_rung();
[[nodiscard]] rung counter_rung();
[[nodiscard]] rung counter_lua_rung();
[[nodiscard]] rung redisson_rung();
[[nodiscard]] rung replica_rung();
[[nodiscard]] rung multilock_rung();
[[nodiscard]] rung redlock_rung();
[[nodiscard]] rung fallback_rung();
[[nodiscard]] rung table_rung();
[[nodiscard]] rung holdfast_rung();

}  // namespace holdfast::lab
