// Locks among the threads of one process: a store without a server. It is the reference that the
// contract suite measures the others against, and it says of itself that it is only process_local.
#pragma once

#include "backends/services.hpp"

#include <memory>

namespace holdfast::local_backend {

// "local:" or "local:name"; clients of this process that give the same name share their locks.
[[nodiscard]] std::unique_ptr<backend::store> open(const backends::services& given);

}  // namespace holdfast::local_backend
