#include "lab/play/lock_reader.hpp"

#include <holdfast/admin.hpp>

#include <fcntl.h>
#include <fmt/format.h>

namespace holdfast::lab {

stored_lock redis_lock_reader::look(const std::string& key) {
    stored_lock seen;
    const auto type = link_.send({"TYPE", key}).text();
    if (type == "string") seen.identity = link_.send({"GET", key}).text();
    // The fields and not their values: a count may change later, the owner does not.
    if (type == "hash") seen.identity = link_.send({"HKEYS", key}).shown();
    const auto left = link_.send({"PTTL", key}).number();
    if (left >= 0) seen.left = std::chrono::milliseconds{left};
    if (left == -2) seen.identity.clear();  // it expired between these commands
    return seen;
}

table_lock_reader::table_lock_reader(const std::string& file) : database_(file) {
    database_.run(
        "CREATE TABLE distributed_lock (lock_key TEXT PRIMARY KEY, owner TEXT, expire_time INTEGER)");
}

stored_lock table_lock_reader::look(const std::string& key) {
    const auto row = database_.run(
        "SELECT owner, expire_time - now_ms() FROM distributed_lock WHERE lock_key = ?1", {key});
    if (row.columns.empty()) return {};
    const std::chrono::milliseconds left{std::stoll(row.columns[1])};
    if (left.count() < 0) return {};
    return {row.columns[0], left};
}

// The folder may have a name that a URL would take for options.
sqlite_store_reader::sqlite_store_reader(const std::filesystem::path& folder)
    : folder_(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      locks_(fmt::format("sqlite:/proc/self/fd/{}/locks.db", folder_.get())) {}

stored_lock sqlite_store_reader::look(const std::string& key) {
    const auto seen = admin::inspect(locks_, lock_name{key});
    if (seen.holders.empty()) return {};
    return {seen.holders.front().owner, seen.ttl};
}

}  // namespace holdfast::lab
