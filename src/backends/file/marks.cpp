#include "backends/file/marks.hpp"

#include "engine/kinds.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <limits>

namespace holdfast::file_backend {

namespace {

// A range begins in the zone of its meaning, at the tag, and is as long as the serial. So it also ends there:
// 2^56 + 2^57 < 2^58. The kinds have the zones of their numbers.
constexpr int zone_bits = 58;
constexpr std::int64_t zone = std::int64_t{1} << zone_bits;
constexpr std::int64_t of_waiters = 10;
constexpr std::int64_t end_of_zones = std::int64_t{1} << 62;
static_assert(engine::kind_table.size() <= of_waiters);

constexpr std::uint64_t tags = std::uint64_t{1} << 56U;
constexpr std::int64_t least_serial = std::int64_t{1} << 50;  // microseconds: no range of another program
constexpr std::int64_t serials = std::int64_t{1} << 57;
constexpr std::size_t tag_digits = 14;

// Behind the zones: 2^32 places of 2^30 bytes.
constexpr int place_bits = 30;
static_assert(engine::rules_of(kind::semaphore).most_permits < std::uint32_t{1} << place_bits);

byte_range in_zone(std::int64_t number, const owner_number& owner) {
    return {number * zone + static_cast<std::int64_t>(owner.tag), owner.serial};
}

// The finalizer of splitmix64: neighbours get places far apart.
std::uint64_t scattered(std::uint64_t x) {
    x ^= x >> 30U;
    x *= 0xbf58476d1ce4e5b9U;
    x ^= x >> 27U;
    x *= 0x94d049bb133111ebU;
    return x ^ x >> 31U;
}

// As tag_of_client() writes it: with small letters.
std::optional<std::uint64_t> tag_in(std::string_view text) {
    std::uint64_t tag = 0;
    for (const char c : text) {
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) return std::nullopt;
        tag = tag << 4U | static_cast<unsigned>(digit);
    }
    return tag;
}

}  // namespace

std::optional<owner_number> number_of(std::string_view owner) {
    if (owner.size() <= tag_digits + 1 || owner[tag_digits] != '|') return std::nullopt;
    const auto tag = tag_in(owner.substr(0, tag_digits));
    const auto serial = owner.substr(tag_digits + 1);
    // An owner has one text only.
    if (!tag || serial.front() == '0') return std::nullopt;
    owner_number found{*tag, 0};
    const auto* const end = serial.data() + serial.size();
    const auto [stopped, ec] = std::from_chars(serial.data(), end, found.serial);
    if (ec != std::errc{} || stopped != end) return std::nullopt;
    if (found.serial < least_serial || found.serial >= serials) return std::nullopt;
    return found;
}

std::string text_of(const owner_number& owner) {
    std::array<char, tag_digits + 3> tag{};
    std::snprintf(tag.data(), tag.size(), "%014llx", static_cast<unsigned long long>(owner.tag));
    return owner_text(std::string_view{tag.data(), tag_digits}, owner.serial);
}

std::string owner_text(std::string_view tag, std::int64_t serial) {
    std::array<char, 40> text{};
    auto* at = std::copy_n(tag.data(), std::min(tag.size(), tag_digits), text.data());
    *at++ = '|';
    at = std::to_chars(at, text.data() + text.size(), serial).ptr;
    return {text.data(), at};
}

std::string tag_of_client(std::string_view hex) { return std::string{hex.substr(hex.size() - tag_digits)}; }

byte_range mark_of_holder(kind of, const owner_number& owner) {
    return in_zone(static_cast<std::int64_t>(of), owner);
}

byte_range mark_of_waiter(const owner_number& owner) { return in_zone(of_waiters, owner); }

byte_range mark_of_count(const owner_number& owner, std::uint32_t count, unsigned choice) {
    const auto mixed =
        scattered(scattered(owner.tag) + static_cast<std::uint64_t>(owner.serial)) + choice * 0x9e3779b9U;
    return {
        end_of_zones + static_cast<std::int64_t>((mixed & 0xffffffffU) << static_cast<unsigned>(place_bits)),
        count};
}

byte_range marks_of_waiters() { return {of_waiters * zone, zone}; }

byte_range marks_of_counts() {
    return {end_of_zones, std::numeric_limits<std::int64_t>::max() - end_of_zones};
}

other_kinds marks_of_other_kinds(kind of) {
    const auto family = engine::rules_of(of).belongs_to;
    std::int64_t first = static_cast<std::int64_t>(of);
    std::int64_t end = first + 1;
    // The kinds of a family stand together in the table.
    while (first > 0 && engine::kind_table[static_cast<std::size_t>(first - 1)].belongs_to == family) --first;
    while (end < static_cast<std::int64_t>(engine::kind_table.size()) &&
           engine::kind_table[static_cast<std::size_t>(end)].belongs_to == family)
        ++end;
    return {{0, first * zone}, {end * zone, (of_waiters - end) * zone}};
}

std::optional<mark> mark_in(const byte_range& range) {
    using is = mark::meaning;
    if (range.start < 0 || range.length < 1) return std::nullopt;
    if (range.start >= end_of_zones) return mark{is::count, {}, {}, range};
    const auto number = range.start / zone;
    const owner_number owner{static_cast<std::uint64_t>(range.start % zone), range.length};
    if (owner.tag >= tags || owner.serial < least_serial || owner.serial >= serials) return std::nullopt;
    if (number == of_waiters) return mark{is::waiter, {}, owner, range};
    if (number >= static_cast<std::int64_t>(engine::kind_table.size())) return std::nullopt;
    return mark{is::holder, static_cast<kind>(number), owner, range};
}

}  // namespace holdfast::file_backend
