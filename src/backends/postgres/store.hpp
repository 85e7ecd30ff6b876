// Locks in a PostgreSQL database: every kind, in one table.
#pragma once

#include "backends/services.hpp"

#include <memory>

namespace holdfast::postgres_backend {

// For "postgres://..." and "postgresql://..."; see url.hpp.
[[nodiscard]] std::unique_ptr<backend::store> open(const backends::services& given);

}  // namespace holdfast::postgres_backend
