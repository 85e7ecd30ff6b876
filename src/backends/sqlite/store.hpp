// Locks between the processes of one machine, in an SQLite database: no server, and every kind of lock.
#pragma once

#include "backends/services.hpp"

#include <memory>

namespace holdfast::sqlite_backend {

// For "sqlite:PATH"; see url.hpp.
[[nodiscard]] std::unique_ptr<backend::store> open(const backends::services& given);

}  // namespace holdfast::sqlite_backend
