#include "backends/sqlite/examine.hpp"

#include "backends/common/local_file_system.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <string>

namespace holdfast::sqlite_backend {

namespace {

finding about_file_system(const std::string& path, const std::string& directory) {
    const auto shared = backends::shared_file_system(directory);
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
            "keep the file on a disk of this machine, or in memory (/run)",
            promise::timed};
}

finding about_rights(const std::string& path) {
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0)
        return {"file-mode", severity::unknown, path, "the file cannot be looked at", {}, {}, promise::timed};
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

finding about_space(const std::string& path, const std::string& directory) {
    constexpr std::uint64_t enough = 16U << 20U;
    struct statvfs about {};
    if (::statvfs(directory.c_str(), &about) != 0)
        return {"disk-space", severity::unknown, path, "the free space is unknown", {}, {}, promise::live};
    const auto free = static_cast<std::uint64_t>(about.f_bavail) * about.f_frsize;
    const auto text = std::to_string(free >> 20U) + " MiB are free";
    if (free >= enough) return {"disk-space", severity::ok, path, text, {}, {}, promise::live};
    return {"disk-space",
            severity::warning,
            path,
            text,
            "on a full disk no lock can be acquired, renewed or released, and leases are lost",
            "free some space, or keep the file elsewhere",
            promise::live};
}

finding about_journal(database& file) {
    const auto mode = file.text_of("PRAGMA journal_mode");
    if (mode == "wal")
        return {"sqlite-journal", severity::ok, file.path(), "it has a write-ahead log", {}, {},
                promise::live};
    return {"sqlite-journal",
            severity::warning,
            file.path(),
            "its journal mode is \"" + mode + "\"",
            "readers and writers wait for each other, so waiters are served late",
            "open it with holdfast while no other program has it open",
            promise::live};
}

}  // namespace

examination examine(database& file) {
    const auto directory = std::filesystem::path{file.path()}.parent_path().string();
    return {{},
            {about_file_system(file.path(), directory), about_rights(file.path()),
             about_space(file.path(), directory), about_journal(file)}};
}

}  // namespace holdfast::sqlite_backend
