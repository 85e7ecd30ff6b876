#include "backends/sql/dialect.hpp"

#include "base/text.hpp"

#include <unistd.h>

#include <array>
#include <charconv>

namespace holdfast::sql_backend {

std::int64_t number(const cell& of) noexcept {
    std::int64_t n = 0;
    if (of) std::from_chars(of->data(), of->data() + of->size(), n);
    return n;
}

std::int64_t number_of(std::string_view text) noexcept {
    std::uint64_t hash = 14'695'981'039'346'656'037ULL;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 1'099'511'628'211ULL;
    }
    return static_cast<std::int64_t>(hash);
}

std::string channel_of(const lock_name& name) {
    std::array<char, sizeof(std::uint64_t)> bytes{};
    auto n = static_cast<std::uint64_t>(number_of(name.str()));
    for (auto& b : bytes) {
        b = static_cast<char>(n & 0xff);
        n >>= 8U;
    }
    return "holdfast_" + base::to_hex({bytes.data(), bytes.size()});
}

std::string to_text(const label& l) {
    return "holdfast:" + l.client + ':' + std::to_string(l.pid) + ':' + l.host;
}

std::string label_of_this_process(const std::string& client) {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    return to_text(label{client, ::getpid(), host.data()});
}

std::optional<label> parse_label(std::string_view text) {
    constexpr std::string_view prefix = "holdfast:";
    if (!text.starts_with(prefix)) return std::nullopt;
    text.remove_prefix(prefix.size());
    const auto first = text.find(':');
    const auto second = first == std::string_view::npos ? first : text.find(':', first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    label l{std::string{text.substr(0, first)}, 0, std::string{text.substr(second + 1)}};
    const auto pid = text.substr(first + 1, second - first - 1);
    const auto [end, ec] = std::from_chars(pid.data(), pid.data() + pid.size(), l.pid);
    if (ec != std::errc{} || end != pid.data() + pid.size()) return std::nullopt;
    return l;
}

}  // namespace holdfast::sql_backend
