#include "backends/redis/keys.hpp"

#include <array>
#include <vector>

namespace holdfast::redis_backend {

namespace {

constexpr std::uint16_t slots = 16384;

// CRC-16/XMODEM, as the Redis Cluster specification gives it.
constexpr std::array<std::uint16_t, 256> crc_table = [] {
    std::array<std::uint16_t, 256> table{};
    for (unsigned i = 0; i < 256; ++i) {
        unsigned crc = i << 8;
        for (int bit = 0; bit < 8; ++bit) crc = crc << 1 ^ ((crc & 0x8000U) != 0 ? 0x1021U : 0U);
        table[i] = static_cast<std::uint16_t>(crc);
    }
    return table;
}();

std::uint16_t crc16(std::string_view bytes) noexcept {
    unsigned crc = 0;
    for (const char c : bytes) {
        crc = (crc << 8 & 0xff00U) ^ crc_table[(crc >> 8 ^ static_cast<unsigned char>(c)) & 0xffU];
    }
    return static_cast<std::uint16_t>(crc);
}

// For each slot a short tag that hashes to it; made once, when the first odd name comes by (about 10 ms).
const std::string& tag_for_slot(std::uint16_t slot) {
    static const std::vector<std::string> tags = [] {
        std::vector<std::string> found(slots);
        std::size_t missing = slots;
        for (unsigned n = 0; missing > 0; ++n) {
            auto text = std::to_string(n);
            auto& place = found[crc16(text) % slots];
            if (!place.empty()) continue;
            place = std::move(text);
            --missing;
        }
        return found;
    }();
    return tags[slot];
}

}  // namespace

std::string_view hash_tag(std::string_view key) noexcept {
    const auto open = key.find('{');
    if (open == std::string_view::npos) return key;
    const auto close = key.find('}', open + 1);
    if (close == std::string_view::npos || close == open + 1) return key;
    return key.substr(open + 1, close - open - 1);
}

std::uint16_t slot_of(std::string_view key) noexcept { return crc16(hash_tag(key)) % slots; }

std::string helper_key(char what, std::string_view name) {
    std::string key;
    key.reserve(name.size() + 24);
    key.append("holdfast:").append(1, what);
    if (hash_tag(name).size() != name.size())
        key.append(":").append(name);
    else if (name.find('}') == std::string_view::npos)
        key.append("1:{").append(name).append("}");
    else
        key.append("2:{").append(tag_for_slot(slot_of(name))).append("}").append(name);
    return key;
}

bool is_helper_key(std::string_view key) noexcept {
    constexpr std::string_view prefix = "holdfast:", kinds = "dfopq";
    if (!key.starts_with(prefix) || key.size() < prefix.size() + 2) return false;
    if (kinds.find(key[prefix.size()]) == std::string_view::npos) return false;
    const auto rest = key.substr(prefix.size() + 1);
    return rest.starts_with(":") || rest.starts_with("1:{") || rest.starts_with("2:{");
}

std::string operation_key(std::string_view name, std::string_view operation) {
    return helper_key('o', name).append(":").append(operation);
}

std::string redisson_prefixed(std::string_view prefix, std::string_view name) {
    std::string key{prefix};
    if (name.find('{') != std::string_view::npos)
        key.append(":").append(name);
    else
        key.append(":{").append(name).append("}");
    return key;
}

std::string redisson_suffixed(std::string_view name, std::string_view suffix) {
    std::string key;
    if (name.find('{') != std::string_view::npos)
        key.append(name).append(":").append(suffix);
    else
        key.append("{").append(name).append("}:").append(suffix);
    return key;
}

}  // namespace holdfast::redis_backend
