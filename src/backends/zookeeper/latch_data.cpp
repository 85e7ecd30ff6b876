#include "backends/zookeeper/latch_data.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace holdfast::zookeeper_backend {

namespace {

constexpr std::size_t count_size = 4;

}  // namespace

std::string to_latch_data(const engine::lock_record& r) {
    const auto count =
        std::clamp<std::int64_t>(r.count ? r.count->value : 0, 0, std::numeric_limits<std::int32_t>::max());
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes +=
            static_cast<char>((static_cast<std::uint32_t>(count) >> static_cast<unsigned>(shift)) & 0xffU);
    return bytes + engine::to_bytes(r);
}

std::optional<engine::lock_record> parse_latch_data(std::string_view bytes) {
    if (bytes.size() < count_size) return std::nullopt;
    if (bytes.size() > count_size) {
        auto r = engine::from_bytes(bytes.substr(count_size));
        const bool is_latch = r && r->holders.empty() && (!r->count || r->count->of == backend::kind::latch);
        return is_latch ? r : std::nullopt;
    }
    std::uint32_t count = 0;
    for (const char c : bytes) count = (count << 8U) | static_cast<unsigned char>(c);
    engine::lock_record r;
    r.count = {backend::kind::latch, std::max(0, static_cast<std::int32_t>(count))};
    return r;
}

}  // namespace holdfast::zookeeper_backend
