// Opens the store that a URL names.
#pragma once

#include "backends/services.hpp"

#include <holdfast/group_mode.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::backends {

// Throws holdfast::error (errc::invalid_argument), which names what cannot be used and what can.
[[nodiscard]] std::unique_ptr<backend::store> open(const services& given);

// The statements that make the tables of the store that a URL names, with the rights of its user. Empty: it
// has no tables. Throws as open().
[[nodiscard]] std::string schema_for(std::string_view url);

// See admin::plan_pin(). Throws as open(), and for a URL that has no levels.
[[nodiscard]] admin::pin_plan plan_pin(const config& settings, std::size_t level);

using opener = std::unique_ptr<backend::store> (*)(const services& given);

// Adds a store from outside of this library, for all clients that are opened from now on. `scheme` is the
// part before the colon of its URLs, and lives as long as the program. Thread-safe.
void add(std::string_view scheme, opener open);

}  // namespace holdfast::backends
