#include "backends/sqlite/registers.hpp"

#include "backends/common/register_version.hpp"

#include <string>

namespace holdfast::sqlite_backend {

namespace {

// A table of its own, made by the first change: the records of locks are read by clients that know nothing of
// registers, and would take a row among them for damage. The layout of the file keeps its number, for a
// client that does not know this table does not need it.
constexpr const char* table =
    "CREATE TABLE IF NOT EXISTS holdfast_registers"
    " (name TEXT PRIMARY KEY, version INTEGER NOT NULL, value BLOB NOT NULL) WITHOUT ROWID";

}  // namespace

backend::register_value read_register(database& file, std::string_view name) {
    if (file.number_of("SELECT count(*) FROM sqlite_master WHERE name = 'holdfast_registers'") == 0)
        return {};
    statement find(file, "SELECT version, value FROM holdfast_registers WHERE name = ?1");
    if (!find.bind_text(1, name).step()) return {};
    return {static_cast<std::uint64_t>(find.number(0)), std::string{find.blob(1)}};
}

backend::register_value change_register(database& file, std::string_view name, std::uint64_t expected,
                                        std::string_view text) {
    auto now = read_register(file, name);
    if (now.version != expected) return now;
    file.run(table);
    now = {backends::next_register_version(expected), std::string{text}};
    statement save(file, "INSERT OR REPLACE INTO holdfast_registers VALUES (?1, ?2, ?3)");
    save.bind_text(1, name).bind(2, static_cast<std::int64_t>(now.version)).bind(3, now.text).run();
    return now;
}

}  // namespace holdfast::sqlite_backend
