// What operators see of a lock file.
#pragma once

#include "backends/file/kernel_locks.hpp"
#include "backends/file/peers.hpp"
#include "store/inspection.hpp"

#include <functional>
#include <optional>
#include <string>

namespace holdfast::file_backend {

struct surroundings {
    std::function<std::optional<peer>(const std::string& tag)> peer_of;
    std::function<bool(const peer&)> reaches;            // its client can be asked
    std::function<bool(std::int64_t pid)> is_a_process;  // there is one, or it cannot be known
};

// Holders are found by their marks; the rest of the locks of flock(2) belongs to other programs.
[[nodiscard]] backend::lock_info describe(const lock_name& name, const locks_of_file& locks,
                                          const surroundings& around);

// How many permits the holders have together.
[[nodiscard]] std::int64_t permits_out(const backend::lock_info& info);
// The owner as describe() names a holder that is no client of holdfast.
[[nodiscard]] bool is_foreign(const std::string& owner);

}  // namespace holdfast::file_backend
