// Marks: what holdfast's clients tell each other about a lock file without writing into it. A mark is a
// record lock of fcntl(2) (F_OFD_SETLK, for reading) on bytes far behind the end of every file. flock(2) does
// not see it, the kernel removes it with the last copy of the descriptor, and /proc/locks shows it to
// everybody, from other containers too. The bytes that it covers say what it is.
#pragma once

#include <holdfast/kind.hpp>
#include <holdfast/types.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::file_backend {

struct byte_range {
    std::int64_t start = 0;
    std::int64_t length = 0;

    friend bool operator==(const byte_range&, const byte_range&) = default;
};

// An owner in two numbers, so that it fits into a range. Its text is "<tag in 14 hexadecimal
// digits>|<serial>".
struct owner_number {
    std::uint64_t tag = 0;    // of the client, 56 bits
    std::int64_t serial = 0;  // 2^50 to 2^57

    friend bool operator==(const owner_number&, const owner_number&) = default;
};
[[nodiscard]] std::optional<owner_number> number_of(std::string_view owner);
[[nodiscard]] std::string text_of(const owner_number& owner);
[[nodiscard]] std::string owner_text(std::string_view tag, std::int64_t serial);
// Of 32 hexadecimal digits, as base::client_id has them.
[[nodiscard]] std::string tag_of_client(std::string_view hex);

// The owner holds the lock as this kind.
[[nodiscard]] byte_range mark_of_holder(kind of, const owner_number& owner);
// It waits for the lock.
[[nodiscard]] byte_range mark_of_waiter(const owner_number& owner);
// How many permits the owner has, or how often it holds the lock. Each owner has a place of its own; where
// two have the same by chance, one of them takes the next `choice`.
[[nodiscard]] byte_range mark_of_count(const owner_number& owner, std::uint32_t count, unsigned choice = 0);
inline constexpr unsigned choices = 4;

// All marks of waiters, of counts, and of holders of this family of kinds and of all others.
[[nodiscard]] byte_range marks_of_waiters();
[[nodiscard]] byte_range marks_of_counts();
struct other_kinds {
    byte_range before;  // may be empty
    byte_range behind;
};
[[nodiscard]] other_kinds marks_of_other_kinds(kind of);

// What a mark says.
struct mark {
    enum class meaning { holder, waiter, count } is = meaning::holder;
    kind of{};             // of a holder
    owner_number owner{};  // of a holder or a waiter
    byte_range range{};    // of a count: see mark_of_count

    friend bool operator==(const mark&, const mark&) = default;
};
// Nothing for a range that is no mark: other programs may use fcntl(2) on the file, too.
[[nodiscard]] std::optional<mark> mark_in(const byte_range& range);

}  // namespace holdfast::file_backend
