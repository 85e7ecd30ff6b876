// Names of the keys and channels beside a lock's own key. All of them live in the slot of the lock's key,
// whatever bytes its name has, so that a script may touch them together in a cluster.
#pragma once

#include "redis/slots.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::redis_backend {

using redis::hash_tag;
using redis::slot_of;

// "holdfast:q..." for what = 'q': d absent waiters of a fair line, f fence, o result of an operation, p
// permits that are out, q queue. Different names never share a helper key: the whole name is in it, behind
// one of three prefixes that say how.
[[nodiscard]] std::string helper_key(char what, std::string_view name);
// Where the clients of a redlock agree on its members: this key, or with ":<name>" (docs/wire/redlock.md).
inline constexpr std::string_view quorum_mark = "holdfast:redlock";
// Since when a promoted server has been the master, as those saw it whom it matters to (docs/safety.md).
inline constexpr std::string_view promotion_mark = "holdfast:promoted";
// What it is, if it is one of these three; empty if not. No lock may have such a name.
[[nodiscard]] std::string_view purpose_of_own_key(std::string_view key) noexcept;
// Whether it stands beside locks. Beyond those three a lock may have such a name all the same.
[[nodiscard]] bool is_helper_key(std::string_view key) noexcept;

// Names as Redisson makes them (docs/wire/): "prefix:{name}" and "{name}:suffix", without braces of their own
// if the name has a '{'.
[[nodiscard]] std::string redisson_prefixed(std::string_view prefix, std::string_view name);
[[nodiscard]] std::string redisson_suffixed(std::string_view name, std::string_view suffix);
// Whether all names that Redisson makes of this one lie in its slot. It looks for a '{' only, where the
// server looks for a whole hash tag, so those of "a{" and "a}b" do not: in a cluster such a lock cannot be
// served.
[[nodiscard]] bool redisson_shares_slot(std::string_view name) noexcept;
// The channel on which Redisson announces a release.
[[nodiscard]] inline std::string redisson_channel(std::string_view name) {
    return redisson_prefixed("redisson_lock__channel", name);
}

// Where the result of an operation that must not be done twice is kept for a while.
[[nodiscard]] std::string operation_key(std::string_view name, std::string_view operation);

}  // namespace holdfast::redis_backend
