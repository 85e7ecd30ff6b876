// Redlock: a lock on independent servers, held by the owner that has a majority. docs/wire/redlock.md.
#pragma once

#include "backends/redlock/members.hpp"

namespace holdfast::redlock_backend {

// `open_member` opens the store that a member's URL names. Throws holdfast::error for what cannot be used.
[[nodiscard]] std::unique_ptr<backend::store> open(const backends::services&, member_opener open_member);

}  // namespace holdfast::redlock_backend
