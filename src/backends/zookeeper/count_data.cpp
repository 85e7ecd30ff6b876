#include "backends/zookeeper/count_data.hpp"

#include "engine/kinds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace holdfast::zookeeper_backend {

namespace {

constexpr std::size_t count_size = 4;

}  // namespace

std::string to_count_data(const engine::lock_record& r) {
    using limits = std::numeric_limits<std::int32_t>;
    const auto count = std::clamp<std::int64_t>(r.count ? r.count->value : 0, limits::min(), limits::max());
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes +=
            static_cast<char>((static_cast<std::uint32_t>(count) >> static_cast<unsigned>(shift)) & 0xffU);
    return bytes + engine::to_bytes(r);
}

std::optional<engine::lock_record> parse_count_data(std::string_view bytes, backend::kind of) {
    if (bytes.size() < count_size) return std::nullopt;
    if (bytes.size() > count_size) {
        auto r = engine::from_bytes(bytes.substr(count_size));
        const bool fits =
            r && r->holders.empty() &&
            (!r->count || engine::rules_of(r->count->of).belongs_to == engine::rules_of(of).belongs_to);
        return fits ? r : std::nullopt;
    }
    std::uint32_t bits = 0;
    for (const char c : bytes) bits = (bits << 8U) | static_cast<unsigned char>(c);
    const auto count = static_cast<std::int32_t>(bits);
    engine::lock_record r;
    r.count = {of, of == backend::kind::latch ? std::max(0, count) : count};
    return r;
}

}  // namespace holdfast::zookeeper_backend
