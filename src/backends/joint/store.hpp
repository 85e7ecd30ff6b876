// A lock in one of several stores, or in two of them: which, an arbiter decides for all clients together. So
// they can change from one store to the next while locks are held, and exclude each other throughout.
// docs/fallback.md.
#pragma once

#include "backends/joint/core.hpp"

namespace holdfast::joint_backend {

// `open_level` opens the store that a URL names. Throws holdfast::error for what cannot be used.
[[nodiscard]] std::unique_ptr<backend::store> open(const backends::services&, level_opener open_level);

}  // namespace holdfast::joint_backend
