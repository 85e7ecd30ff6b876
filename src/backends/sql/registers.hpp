// Registers in rows of the table of locks.
//
// A table of their own would need another CREATE TABLE and another GRANT in every database that has the table
// of locks already. In there a register has a reserved name, and a record that is no lock's: clients that
// know nothing of registers leave it out of what they list, and out of what they remove for want of use.
#pragma once

#include "backends/sql/change.hpp"
#include "store/linearizable_register.hpp"

#include <cstdint>
#include <functional>
#include <string_view>

namespace holdfast::sql_backend {

// Names of rows that begin so are no locks.
inline constexpr std::string_view register_prefix = "holdfast:register:";

// `done` is called once, on any thread. `with` outlives the call of `done`.
void read_register(const change_tools& with, std::string_view name, time_point deadline,
                   std::function<void(backend::result<backend::register_value>)> done);
void change_register(const change_tools& with, std::string_view name, std::uint64_t expected,
                     std::string_view text, time_point deadline,
                     std::function<void(backend::result<backend::register_value>)> done);

}  // namespace holdfast::sql_backend
