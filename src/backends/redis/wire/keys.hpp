// Names of the helper keys and channels of a lock. All are in the slot of the lock's key, whatever bytes its
// name has, so that a script may use them together in a cluster.
#pragma once

#include "redis/cluster/slots.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::redis_backend {

using redis::hash_tag;
using redis::slot_of;

// "holdfast:q..." for what = 'q': d absent waiters of a fair mutex, f fence, o result of an operation, p
// permits that are held, q queue. Different names never share a helper key: it contains the whole name, after
// one of three prefixes that say how.
[[nodiscard]] std::string helper_key(char what, std::string_view name);
// The key under which the clients of a redlock agree on its members, alone or with ":<name>"
// (docs/wire/redlock.md).
inline constexpr std::string_view quorum_mark = "holdfast:redlock";
// The key under which clients note since when a promoted server has been the master (docs/safety.md).
inline constexpr std::string_view promotion_mark = "holdfast:promoted";
// The purpose of a key that is one of these three; otherwise empty. No lock may have such a name.
[[nodiscard]] std::string_view purpose_of_own_key(std::string_view key) noexcept;
// Whether the key is one of these three or a helper key. A lock may have the name of a helper key, too.
[[nodiscard]] bool is_helper_key(std::string_view key) noexcept;

// Names as Redisson makes them (docs/wire/): "prefix:{name}" and "{name}:suffix", without braces of their own
// if the name has a '{'.
[[nodiscard]] std::string redisson_prefixed(std::string_view prefix, std::string_view name);
[[nodiscard]] std::string redisson_suffixed(std::string_view name, std::string_view suffix);
// Whether all names that Redisson makes of this one are in its slot. Redisson looks only for a '{', but the
// server for a whole hash tag, so the names made of "a{" and "a}b" are not: a cluster cannot serve such a
// lock.
[[nodiscard]] bool redisson_shares_slot(std::string_view name) noexcept;
// The channel on which Redisson announces a release.
[[nodiscard]] inline std::string redisson_channel(std::string_view name) {
    return redisson_prefixed("redisson_lock__channel", name);
}

// The keys that show what kind of lock a key is, in the order of the arguments of peek.lua: the permits of a
// counting_semaphore and of a permit_semaphore, the queue of a fair_mutex, the fence counter of a
// fenced_mutex.
[[nodiscard]] std::array<std::string, 4> companion_keys(const std::string& name);

// The key that keeps, for a while, the result of an operation that must not be done twice.
[[nodiscard]] std::string operation_key(std::string_view name, std::string_view operation);

}  // namespace holdfast::redis_backend
