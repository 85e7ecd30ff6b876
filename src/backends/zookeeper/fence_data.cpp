#include "backends/zookeeper/fence_data.hpp"

#include <charconv>

namespace holdfast::zookeeper_backend {

namespace {

constexpr std::string_view before_number = "holdfast fence ";

}  // namespace

std::string to_fence_data(std::uint64_t last) { return std::string{before_number} + std::to_string(last); }

std::optional<std::uint64_t> parse_fence_data(std::string_view bytes) {
    if (!bytes.starts_with(before_number)) return std::nullopt;
    bytes.remove_prefix(before_number.size());
    std::uint64_t number = 0;
    const auto [end, ec] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), number);
    if (ec != std::errc{} || end != bytes.data() + bytes.size()) return std::nullopt;
    return number;
}

}  // namespace holdfast::zookeeper_backend
