// Locks between the processes of one machine, by flock(2) on a file for each: no server, shared with
// flock(1).
#pragma once

#include "backends/services.hpp"

#include <memory>

namespace holdfast::file_backend {

// For "file:DIR"; see url.hpp. Makes the directory if only the last part of the path is missing.
[[nodiscard]] std::unique_ptr<backend::store> open(const backends::services& given);

}  // namespace holdfast::file_backend
