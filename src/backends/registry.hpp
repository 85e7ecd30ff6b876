// From a URL to a store.
#pragma once

#include "backends/services.hpp"

#include <memory>

namespace holdfast::backends {

// Throws holdfast::error (errc::invalid_argument), which names what cannot be used and what can.
[[nodiscard]] std::unique_ptr<backend::store> open(const services& given);

}  // namespace holdfast::backends
