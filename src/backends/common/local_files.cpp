#include "backends/common/local_files.hpp"

#include "backends/common/local_file_system.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cstdint>

namespace holdfast::backends {

finding about_file_system(const std::string& path, const std::string& directory) {
    const auto shared = shared_file_system(directory);
    if (!shared) {
        return {"file-system",
                severity::ok,
                path,
                "only this machine has the file system of " + directory,
                {},
                {},
                promise::timed};
    }
    return {"file-system",
            severity::danger,
            path,
            "it is on " + *shared,
            "another machine that has mounted it may grant the same locks",
            "keep it on a disk of this machine, or in memory (/run)",
            promise::timed};
}

finding about_rights(const std::string& path) {
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0)
        return {"file-mode", severity::unknown, path, "it cannot be looked at", {}, {}, promise::timed};
    if ((about.st_mode & S_IWOTH) == 0)
        return {"file-mode", severity::ok, path, "not every user may write to it", {}, {}, promise::timed};
    return {"file-mode",
            severity::warning,
            path,
            "every user of this machine may write to it",
            "any program can take or free the locks",
            "chmod o-w " + path,
            promise::timed};
}

finding about_space(const std::string& path, const std::string& directory, const std::string& risk) {
    constexpr std::uint64_t enough = 16U << 20U;
    struct statvfs about {};
    if (::statvfs(directory.c_str(), &about) != 0)
        return {"disk-space", severity::unknown, path, "the free space is unknown", {}, {}, promise::live};
    const auto free = static_cast<std::uint64_t>(about.f_bavail) * about.f_frsize;
    const auto text = std::to_string(free >> 20U) + " MiB are free";
    if (free >= enough) return {"disk-space", severity::ok, path, text, {}, {}, promise::live};
    return {"disk-space", severity::warning, path, text, risk, "free some space, or keep it elsewhere",
            promise::live};
}

}  // namespace holdfast::backends
