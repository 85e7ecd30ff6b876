// Names of the keys and channels beside a lock's own key. All of them live in the slot of the lock's key,
// whatever bytes its name has, so that a script may touch them together in a cluster.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::redis_backend {

// What Redis Cluster hashes: the text between the first '{' and the next '}' if there is any, else all of it.
[[nodiscard]] std::string_view hash_tag(std::string_view key) noexcept;
[[nodiscard]] std::uint16_t slot_of(std::string_view key) noexcept;

// "holdfast:q..." for what = 'q': d absent waiters of a fair line, f fence, o result of an operation, p
// permits that are out, q queue. Different names never share a helper key: the whole name is in it, behind
// one of three prefixes that say how.
[[nodiscard]] std::string helper_key(char what, std::string_view name);
// Whether it is one. A lock may have such a name all the same.
[[nodiscard]] bool is_helper_key(std::string_view key) noexcept;

// Names as Redisson makes them (docs/wire/): "prefix:{name}" and "{name}:suffix", without braces of their own
// if the name has a '{'.
[[nodiscard]] std::string redisson_prefixed(std::string_view prefix, std::string_view name);
[[nodiscard]] std::string redisson_suffixed(std::string_view name, std::string_view suffix);
// The channel on which Redisson announces a release.
[[nodiscard]] inline std::string redisson_channel(std::string_view name) {
    return redisson_prefixed("redisson_lock__channel", name);
}

// Where the result of an operation that must not be done twice is kept for a while.
[[nodiscard]] std::string operation_key(std::string_view name, std::string_view operation);

}  // namespace holdfast::redis_backend
