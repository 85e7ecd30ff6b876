#include "backends/mariadb/schema.hpp"

#include "backends/mariadb/shedlock_statements.hpp"
#include "backends/mariadb/url.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace holdfast::mariadb_backend {

namespace {

// The start of the statement, which is later than its request. Unlike NOW(), it has no time zone, whose hours
// may be repeated or left out.
#define HOLDFAST_MICROSECONDS "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"

// A waiter's client has a user lock while it can be reached. Not in a cluster, whose nodes do not know each
// other's user locks: see settings_of() in session.cpp.
constexpr const char* load_sql =
    "SELECT l.record, l.version, " HOLDFAST_MICROSECONDS
    ", IF('$2' = '' OR @holdfast_cluster, NULL, (SELECT CONCAT('{', GROUP_CONCAT(c), '}') FROM"
    " JSON_TABLE('[$2]', '$[*]' COLUMNS (c BIGINT PATH '$')) AS x"
    " WHERE IS_USED_LOCK(CONCAT('holdfast_', c)) IS NULL))"
    " FROM (SELECT 1 AS one) AS one LEFT JOIN holdfast_lock AS l ON l.name = $1";

// An error if there is a row.
constexpr const char* insert_sql =
    "INSERT INTO holdfast_lock (name, record, version, changed) VALUES ($1, $2, $3, UTC_DATE())";

// The number of rows found is the answer.
#define HOLDFAST_SAVE                                                                                       \
    "UPDATE holdfast_lock SET record = $3, version = $5, changed = UTC_DATE() WHERE name = $1 AND version " \
    "= $2"
constexpr const char* save_at_sql = HOLDFAST_SAVE " AND " HOLDFAST_MICROSECONDS " BETWEEN $6 AND $7";

// A session of a user with all rights goes on writing to a server that has become a replica.
#define HOLDFAST_READ_ONLY "CAST(@@GLOBAL.read_only AS CHAR) NOT IN ('0', 'OFF')"

constexpr const char* read_register_sql =
    "(SELECT record, version FROM holdfast_lock WHERE name = $1 LOCK IN SHARE MODE)"
    " UNION ALL SELECT NULL, NULL FROM (SELECT 1 AS one) AS one WHERE " HOLDFAST_READ_ONLY;

constexpr const char* insert_register_sql =
    "INSERT INTO holdfast_lock (name, record, version, changed) SELECT $1, $2, $3, UTC_DATE()"
    " FROM (SELECT 1 AS one) AS one WHERE NOT " HOLDFAST_READ_ONLY;

constexpr const char* load_many_sql =
    "SELECT name, record, version, " HOLDFAST_MICROSECONDS " FROM holdfast_lock WHERE name IN ($1)";

// The version in the second list that belongs to the name in the first.
#define HOLDFAST_ITS_VERSION "CAST(ELT(FIELD(name, $1), $2) AS SIGNED)"

// Rows are locked in the order of their names, so that two such statements do not wait for each other. A row
// that another transaction has locked is left out. What was saved is seen by its version, which is no
// other's.
constexpr const char* save_many_sql =
    "UPDATE (SELECT name FROM holdfast_lock FORCE INDEX (PRIMARY) WHERE name IN ($1)"
    " AND version = " HOLDFAST_ITS_VERSION
    " FOR UPDATE SKIP LOCKED) AS mine STRAIGHT_JOIN holdfast_lock AS l FORCE INDEX (PRIMARY)"
    " ON l.name = mine.name SET l.record = ELT(FIELD(l.name, $1), $3),"
    " l.version = CAST(ELT(FIELD(l.name, $1), $4) AS SIGNED), l.changed = UTC_DATE();"
    " SELECT name FROM holdfast_lock WHERE name IN ($1)"
    " AND version = CAST(ELT(FIELD(name, $1), $4) AS SIGNED)";

constexpr const char* scan_sql =
    "SELECT name, record FROM holdfast_lock WHERE name > $1 OR ($2 AND name = $1) ORDER BY name LIMIT $3";

constexpr const char* unused_sql =
    "SELECT name, record, version, " HOLDFAST_MICROSECONDS
    " FROM holdfast_lock WHERE name > $1 AND changed < UTC_DATE() - INTERVAL 7 DAY ORDER BY name LIMIT $2";

constexpr const char* remove_sql =
    "DELETE FROM holdfast_lock WHERE name IN ($1) AND version = " HOLDFAST_ITS_VERSION " RETURNING name";

// Sessions of the same user; of others, too, with the right PROCESS. A node of a cluster knows its own.
constexpr const char* clients_sql =
    "SELECT DISTINCT SUBSTRING_INDEX(SUBSTRING_INDEX(info, ' */', 1), '/* ', -1)"
    " FROM information_schema.PROCESSLIST WHERE info LIKE 'DO /* holdfast:%' AND db = DATABASE()"
    " UNION ALL SELECT NULL FROM (SELECT 1 AS one) AS one WHERE @holdfast_cluster";

std::string joined(const std::vector<std::string>& all) {
    std::string list;
    for (const auto& one : all) list.append(list.empty() ? "" : ",").append(one);
    return list;
}
std::string literal(std::string_view bytes) { return "x'" + base::to_hex(bytes) + '\''; }

std::string literals(const std::vector<std::string>& all) {
    std::vector<std::string> each;
    for (const auto& one : all) each.push_back(literal(one));
    return joined(each);
}
// Ends the sleep of each client. An error if one is gone; then nobody needs to be told.
std::string rings(const std::vector<std::string>& all) {
    constexpr std::string_view prefix = "holdfast_";
    std::string sql;
    for (const auto& one : all) {
        const auto client = sql_backend::number_of(std::string_view{one}.substr(prefix.size()));
        sql.append(sql.empty() ? "" : ";")
            .append("KILL QUERY IS_USED_LOCK('")
            .append(presence_of(client))
            .append("')");
    }
    return sql;
}
std::string numbers(const std::vector<std::int64_t>& all) {
    std::vector<std::string> each;
    for (const auto one : all) each.push_back(std::to_string(one));
    return joined(each);
}

}  // namespace

const sql_backend::dialect& dialect() {
    static const sql_backend::dialect words{
        .wakes = sql_backend::dialect::wake::by_polling,
        .load = {"", load_sql},
        .insert = {"", insert_sql, true},
        .save = {"", HOLDFAST_SAVE, true},
        .save_at = {"", save_at_sql, true},
        .load_many = {"", load_many_sql},
        .save_many = {"", save_many_sql, true},
        .scan = {"", scan_sql},
        .unused = {"", unused_sql},
        .remove = {"", remove_sql, true},
        .registers = {.read = {"", read_register_sql},
                      .insert = {"", insert_register_sql, true},
                      .save = {"", HOLDFAST_SAVE " AND NOT " HOLDFAST_READ_ONLY, true}},
        // A server looks only every five seconds whether the client of a statement that sleeps is still
        // there.
        .end_mailbox = {"", "KILL $1"},
        .clients = {"", clients_sql},
        .clock = {"", "SELECT " HOLDFAST_MICROSECONDS},
        .list_of_blobs = literals,
        .list_of_texts = joined,
        .list_of_numbers = numbers,
    };
    return words;
}

const sql_backend::dialect& ringing_dialect() {
    static const sql_backend::dialect words = [] {
        auto all = dialect();
        all.wakes = sql_backend::dialect::wake::by_ring;
        all.send = {"", "$1"};
        all.list_of_texts = rings;
        return all;
    }();
    return words;
}

std::string text_of(const sql_backend::statement& what) {
    std::string all;
    const std::string_view sql = what.what->sql;
    for (std::size_t i = 0; i < sql.size(); ++i) {
        const bool stands_for_one =
            sql[i] == '$' && i + 1 < sql.size() && sql[i + 1] >= '1' && sql[i + 1] <= '9';
        if (!stands_for_one) {
            all += sql[i];
            continue;
        }
        const auto& p = what.parameters.at(static_cast<std::size_t>(sql[++i] - '1'));
        switch (p.is) {
            case sql_backend::parameter::form::plain: all += p.value; break;
            case sql_backend::parameter::form::characters: all += "_utf8mb4 " + literal(p.value); break;
            case sql_backend::parameter::form::bytes: all += literal(p.value); break;
        }
    }
    return all;
}

const sql_backend::table& table_of_locks(sql_backend::layout of) noexcept {
    static const sql_backend::table ours{
        "holdfast_lock", "name, record, version, changed", "SELECT, INSERT, UPDATE, DELETE",
        "CREATE TABLE IF NOT EXISTS holdfast_lock (\n"
        "    name varbinary(1024) NOT NULL PRIMARY KEY,\n"
        "    record mediumblob NOT NULL,\n"
        "    version bigint NOT NULL,\n"
        "    changed date NOT NULL\n"
        ") ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='locks of holdfast, layout 1';\n"};
    return of == sql_backend::layout::shedlock ? table_of_shedlock() : ours;
}

std::string schema_for(std::string_view url) {
    const auto to = parse_url(url);
    std::string quoted = "'";
    for (const char c : to.user.empty() ? std::string{"app"} : to.user)
        quoted.append(c == '\'' || c == '\\' ? 2 : 1, c);
    quoted += '\'';
    const auto& one = table_of_locks(to.table);
    std::string all = one.sql;
    all.append("GRANT ").append(one.rights).append(" ON ").append(one.name);
    return all.append(" TO ").append(quoted).append(";\n");
}

std::string presence_of(std::int64_t client) { return "holdfast_" + std::to_string(client); }

std::string sleep_of(std::string_view label, std::chrono::seconds span) {
    std::string safe{label};
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ':' ||
               c == '-' || c == '_' || c == '.';
    };
    std::replace_if(
        safe.begin(), safe.end(), [&](char c) { return !is_plain(c); }, '_');
    return "DO /* " + safe + " */ SLEEP(" + std::to_string(span.count()) + ')';
}

}  // namespace holdfast::mariadb_backend
