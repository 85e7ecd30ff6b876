#include "backends/file/examine.hpp"

#include "backends/common/local_files.hpp"

#include <unistd.h>

namespace holdfast::file_backend {

namespace {

finding about_lock_table(const std::string& directory) {
    if (::access("/proc/locks", R_OK) == 0)
        return {"lock-table", severity::ok, directory,    "/proc/locks shows who holds a lock",
                {},           {},           promise::none};
    return {"lock-table",
            severity::note,
            directory,
            "/proc/locks cannot be read",
            "holders cannot be shown or evicted; locks work",
            "mount /proc",
            promise::none};
}

}  // namespace

examination examine(const std::string& directory) {
    return {{},
            {backends::about_file_system(directory, directory), backends::about_rights(directory),
             backends::about_space(directory, directory,
                                   "on a full disk no lock that is new, or has fences, can be acquired"),
             about_lock_table(directory)}};
}

}  // namespace holdfast::file_backend
