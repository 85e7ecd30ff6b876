// The mode of a group, for people and for programs.
#pragma once

#include <holdfast/group_mode.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

// "redis://db1:6379", or "redis://db1:6379 and postgres://db2/locks, together"
[[nodiscard]] std::string in_words(const admin::group_mode& mode, const std::vector<std::size_t>& needed);
// Both of several lines.
[[nodiscard]] std::string mode_text(const admin::group_mode& mode);
[[nodiscard]] std::string history_text(const admin::group_mode& mode);

[[nodiscard]] nlohmann::ordered_json to_json(const admin::group_mode& mode, bool with_history);

// What a change would do, which is not made: "in_use" after each step. Without `goal`: two levels that stay.
[[nodiscard]] nlohmann::ordered_json plan_to_json(const admin::group_mode& now,
                                                  std::optional<std::size_t> goal);

}  // namespace holdfast::cli
