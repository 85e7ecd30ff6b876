#include "backends/file/kinds.hpp"

namespace holdfast::file_backend {

std::string_view why_not(kind of) noexcept {
    switch (of) {
        case kind::native:
        case kind::native_fenced:
        case kind::shared_read:
        case kind::shared_write:
        case kind::semaphore: return {};
        case kind::recursive:
        case kind::recursive_fenced:
            return "a store in files has no recursive locks, because flock(2) does not count; use a mutex, "
                   "or sqlite:";
        case kind::fair: return "a store in files keeps no queue, because flock(2) has no order; use sqlite:";
        case kind::permit_semaphore:
            return "a store in files has no permits with ids, because only the process that holds a permit "
                   "can release it; use a counting_semaphore, or sqlite:";
        case kind::latch: return "a store in files has no latches; use sqlite:";
    }
    return {};
}

}  // namespace holdfast::file_backend
