#include "redis/cluster/slots.hpp"

#include <array>
#include <vector>

namespace holdfast::redis {

namespace {

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

}  // namespace

std::string_view hash_tag(std::string_view key) noexcept {
    const auto open = key.find('{');
    if (open == std::string_view::npos) return key;
    const auto close = key.find('}', open + 1);
    if (close == std::string_view::npos || close == open + 1) return key;
    return key.substr(open + 1, close - open - 1);
}

std::uint16_t slot_of(std::string_view key) noexcept { return crc16(hash_tag(key)) % slots; }

const std::string& tag_of(std::uint16_t slot) {
    // Never destroyed: static clients may outlive other statics.
    static const auto& tags = *[] {
        auto* const all = new std::vector<std::string>(slots);
        auto& found = *all;
        std::size_t missing = slots;
        for (unsigned n = 0; missing > 0; ++n) {
            auto text = std::to_string(n);
            auto& place = found[crc16(text) % slots];
            if (!place.empty()) continue;
            place = std::move(text);
            --missing;
        }
        return all;
    }();
    return tags[slot];
}

}  // namespace holdfast::redis
