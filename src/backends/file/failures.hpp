// What a failed system call means for a caller.
#pragma once

#include "store/requests.hpp"

#include <string>

namespace holdfast::file_backend {

// `path`: what the call was about. `directory`: of the store, to tell when it is gone.
[[nodiscard]] backend::failure failure_of(int system_error, const std::string& path,
                                          const std::string& directory);

}  // namespace holdfast::file_backend
