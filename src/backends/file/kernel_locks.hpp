// The kernel's table of file locks, /proc/locks.
#pragma once

#include "backends/file/marks.hpp"

#include <cstdint>
#include <functional>
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

        friend bool operator==(const flock_entry&, const flock_entry&) = default;
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

struct reading {
    lock_table table;
    bool in_one = true;  // nothing can have changed meanwhile
};
// Empty: the table cannot be read.
[[nodiscard]] std::optional<reading> read_once();

// Whether two tables tell the caller the same.
using same_to_caller = std::function<bool(const lock_table&, const lock_table&)>;
// Empty: it cannot be read. The kernel gives a table a page at a time, and if locks come or go meanwhile, it
// shows others twice or not at all. So a longer table is read until two readings in a row are the same to the
// caller, `most_readings` times at most; then the last one stands.
inline constexpr int most_readings = 10;
[[nodiscard]] std::optional<lock_table> read_lock_table(
    const same_to_caller&, const std::function<std::optional<reading>()>& read = read_once);

}  // namespace holdfast::file_backend
