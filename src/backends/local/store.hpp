// Locks among the threads of one process: a store without a server. The contract suite uses it as the
// reference for the others. It reports itself as process_local only.
#pragma once

#include "backends/services.hpp"

#include <memory>

namespace holdfast::local_backend {

// For "local:" or "local:name"; clients of this process with the same name share their locks.
[[nodiscard]] std::unique_ptr<backend::store> open(const backends::services& given);

}  // namespace holdfast::local_backend
