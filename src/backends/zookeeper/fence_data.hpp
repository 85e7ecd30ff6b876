// The last fence of a lock, as the data of a node of its own. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::zookeeper_backend {

// "holdfast fence 1234".
[[nodiscard]] std::string to_fence_data(std::uint64_t last);
// Empty: it is something else.
[[nodiscard]] std::optional<std::uint64_t> parse_fence_data(std::string_view);

}  // namespace holdfast::zookeeper_backend
