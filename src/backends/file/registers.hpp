// Registers in files of the store's private directory. See store/linearizable_register.hpp.
//
// A change has the flock(2) of that directory, writes a new file and renames it, so a reader needs no turn:
// it opens the old file or the new one, and neither is ever changed. A process that is killed in the middle
// leaves the old file.
#pragma once

#include "backends/file/paths.hpp"
#include "store/linearizable_register.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::file_backend {

[[nodiscard]] backend::result<backend::register_value> read_register(const paths& at, std::string_view name);

// Empty: another process has its turn; try again. Never waits for it.
[[nodiscard]] std::optional<backend::result<backend::register_value>> change_register(const paths& at,
                                                                                      std::string_view name,
                                                                                      std::uint64_t expected,
                                                                                      std::string_view text);

}  // namespace holdfast::file_backend
