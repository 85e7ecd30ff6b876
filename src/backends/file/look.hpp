// Looks at the locks of a directory, by the table of the kernel.
#pragma once

#include "backends/file/describe.hpp"
#include "backends/file/paths.hpp"
#include "store/inspection.hpp"

#include <string>
#include <vector>

namespace holdfast::file_backend {

[[nodiscard]] backend::result<locks_of_file> kernel_locks_of(const paths& at, const lock_name& name);

// Those that are held, of the names that match the glob.
struct found_lock {
    lock_name name;
    locks_of_file locks;
};
[[nodiscard]] backend::result<std::vector<found_lock>> all_kernel_locks(const paths& at,
                                                                        const std::string& glob);

}  // namespace holdfast::file_backend
