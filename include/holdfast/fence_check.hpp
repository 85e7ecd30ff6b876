// For the resource that a lock guards: how it refuses a write by a holder whose lease has ended
// (docs/safety.md, S1). The check must be made where the data is, in one step with the write.
#pragma once

#include <holdfast/types.hpp>

#include <string>
#include <string_view>

namespace holdfast {

// 20 digits, so that texts compare as fences do: as a number a fence may be too large for Lua or JSON.
[[nodiscard]] HOLDFAST_API std::string to_text(fence f);

// A script for a Redis that keeps the data: writes a string unless a newer fence has written it.
//     EVAL script 2 KEY FENCE_KEY fence value        fence: to_text(); the keys lie in one cluster slot
// Returns 1: written; 0: refused, nothing was changed. FENCE_KEY holds the newest fence and should live as
// long as KEY. For other commands than SET, copy the comparison into a script of your own.
inline constexpr std::string_view redis_fenced_set = R"lua(
local newest = redis.call('GET', KEYS[2])
if newest and newest > ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('SET', KEYS[1], ARGV[2])
return 1
)lua";

// For a database: one row for each guarded resource, and a statement to run in the transaction of the write,
// before it. If it changes one row, go on. If none, a newer fence was here: roll back.
//     parameters: 1 the resource's name, 2 to_number(fence)
inline constexpr std::string_view sql_fence_table =
    "CREATE TABLE IF NOT EXISTS holdfast_fences (resource VARCHAR(255) PRIMARY KEY, fence BIGINT NOT NULL)";
// SQLite 3.24 and PostgreSQL 9.5 or later; both understand $1 and $2.
inline constexpr std::string_view sql_fence_check =
    "INSERT INTO holdfast_fences (resource, fence) VALUES ($1, $2) ON CONFLICT (resource) DO UPDATE SET "
    "fence = "
    "excluded.fence WHERE excluded.fence >= holdfast_fences.fence";

}  // namespace holdfast
