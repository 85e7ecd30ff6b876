// Locks on one Redis server.
#pragma once

#include "backends/services.hpp"

#include <memory>

namespace holdfast::redis_backend {

[[nodiscard]] std::unique_ptr<backend::store> open(const backends::services& given);

}  // namespace holdfast::redis_backend
