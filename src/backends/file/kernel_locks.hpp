// The kernel's table of file locks, /proc/locks.
#pragma once

#include "backends/file/marks.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::file_backend {

// What the table has about one file. It shows no lock of flock(2) whose process is in another pid namespace.
struct locks_of_file {
    struct flock_entry {
        std::int64_t pid = 0;  // of the process that locked it; its children may have it now
        bool exclusive = false;
    };
    std::vector<flock_entry> held;
    std::vector<flock_entry> blocked;  // processes that wait in flock(2)
    std::vector<mark> marks;
};

// As the table names a file.
struct file_id {
    unsigned major = 0;
    unsigned minor = 0;
    std::uint64_t inode = 0;

    friend auto operator<=>(const file_id&, const file_id&) = default;
};

using lock_table = std::map<file_id, locks_of_file>;

[[nodiscard]] lock_table parse_lock_table(std::string_view text);
// Empty: it cannot be read.
[[nodiscard]] std::optional<lock_table> read_lock_table();

}  // namespace holdfast::file_backend
