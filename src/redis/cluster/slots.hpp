// The slot of a Redis Cluster that a key belongs to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::redis {

inline constexpr std::uint16_t slots = 16384;

// The part that Redis Cluster hashes: the text between the first '{' and the next '}' if any, else all of it.
[[nodiscard]] std::string_view hash_tag(std::string_view key) noexcept;
[[nodiscard]] std::uint16_t slot_of(std::string_view key) noexcept;

// The smallest decimal number that hashes to the slot. The first call makes them all (about 10 ms).
[[nodiscard]] const std::string& tag_of(std::uint16_t slot);

}  // namespace holdfast::redis
