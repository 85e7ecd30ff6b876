#include "backends/sqlite/examine.hpp"

#include "backends/common/local_files.hpp"

#include <filesystem>
#include <string>

namespace holdfast::sqlite_backend {

namespace {

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
            {backends::about_file_system(file.path(), directory), backends::about_rights(file.path()),
             backends::about_space(
                 file.path(), directory,
                 "on a full disk no lock can be acquired, renewed or released, and leases are lost"),
             about_journal(file)}};
}

}  // namespace holdfast::sqlite_backend
