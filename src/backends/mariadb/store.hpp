// Locks in a MariaDB database: every kind, in one table.
#pragma once

#include "backends/services.hpp"

#include <memory>

namespace holdfast::mariadb_backend {

// For "mysql://..." and "mariadb://..."; see url.hpp.
[[nodiscard]] std::unique_ptr<backend::store> open(const backends::services& given);

}  // namespace holdfast::mariadb_backend
