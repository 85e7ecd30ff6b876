// The registers in a database file. See store/linearizable_register.hpp.
#pragma once

#include "backends/sqlite/database.hpp"
#include "store/linearizable_register.hpp"

#include <cstdint>
#include <string_view>

namespace holdfast::sqlite_backend {

// Within a transaction. Throws database_error.
[[nodiscard]] backend::register_value read_register(database& file, std::string_view name);

// Within a transaction that writes. Returns what the register holds afterwards. Throws database_error.
[[nodiscard]] backend::register_value change_register(database& file, std::string_view name,
                                                      std::uint64_t expected, std::string_view text);

}  // namespace holdfast::sqlite_backend
