#include "backends/postgres/schema.hpp"

#include "backends/postgres/shedlock_statements.hpp"
#include "backends/postgres/url.hpp"
#include "base/text.hpp"

namespace holdfast::postgres_backend {

namespace {

// clock_timestamp(), not now(): a lock that another transaction has just handed over is never seen at a time
// before that.
#define HOLDFAST_MICROSECONDS "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

// A waiter's client holds the exclusive advisory lock of its number while it receives messages.
constexpr const char* load =
    "SELECT l.record, l.version, " HOLDFAST_MICROSECONDS
    ", ARRAY(SELECT c FROM unnest($2::bigint[]) AS c WHERE pg_try_advisory_xact_lock_shared(c))"
    " FROM (VALUES ($1::bytea)) AS one (name) LEFT JOIN holdfast_lock AS l ON l.name = one.name";

constexpr const char* insert =
    "INSERT INTO holdfast_lock (name, record, version) VALUES ($1, $2, $3::bigint) ON CONFLICT DO NOTHING"
    " RETURNING version, CASE " HOLDFAST_DURABLE " END";

#define HOLDFAST_SAVE                                                                                     \
    "UPDATE holdfast_lock SET record = $3, version = $5::bigint, changed = current_date WHERE name = $1 " \
    "AND version = $2::bigint"
#define HOLDFAST_SAVED                                                                            \
    " RETURNING version, CASE WHEN NOT $4::boolean THEN set_config('synchronous_commit', 'off', " \
    "true) " HOLDFAST_DURABLE " END"

constexpr const char* save = HOLDFAST_SAVE HOLDFAST_SAVED;
constexpr const char* save_at =
    HOLDFAST_SAVE " AND " HOLDFAST_MICROSECONDS " BETWEEN $6::bigint AND $7::bigint" HOLDFAST_SAVED;

constexpr const char* load_many = "SELECT name, record, version, " HOLDFAST_MICROSECONDS
                                  " FROM holdfast_lock WHERE name = ANY ($1::bytea[])";

// Rows are locked in the order of their names, so that two such statements do not wait for each other. A row
// that another transaction has locked is left out.
constexpr const char* save_many =
    "WITH wanted AS (SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bigint[])"
    " AS w (name, version, record, next)),"
    " mine AS (SELECT l.name, w.record, w.next FROM holdfast_lock AS l JOIN wanted AS w"
    " ON l.name = w.name AND l.version = w.version ORDER BY l.name FOR UPDATE OF l SKIP LOCKED)"
    " UPDATE holdfast_lock AS l SET record = mine.record, version = mine.next, changed = current_date"
    " FROM mine"
    " WHERE l.name = mine.name RETURNING l.name, CASE " HOLDFAST_DURABLE " END";

// Also waits for the replicas that commits wait for, because it writes to the row: a server that was
// replaced, and does not know it, gives no answer.
constexpr const char* read_register = "SELECT record, version FROM holdfast_lock WHERE name = $1 FOR SHARE";

constexpr const char* scan =
    "SELECT name, record FROM holdfast_lock WHERE name > $1 OR ($2::boolean AND name = $1) ORDER BY name"
    " LIMIT $3::bigint";

constexpr const char* unused =
    "SELECT name, record, version, " HOLDFAST_MICROSECONDS
    " FROM holdfast_lock WHERE name > $1 AND changed < current_date - 7 ORDER BY name LIMIT $2::bigint";

constexpr const char* remove =
    "WITH mine AS (SELECT l.name FROM holdfast_lock AS l JOIN unnest($1::bytea[], $2::bigint[])"
    " AS w (name, version) ON l.name = w.name AND l.version = w.version"
    " ORDER BY l.name FOR UPDATE OF l SKIP LOCKED)"
    " DELETE FROM holdfast_lock AS l USING mine WHERE l.name = mine.name RETURNING l.name";

constexpr const char* send = "SELECT pg_notify(c, t) FROM unnest($1::text[], $2::text[]) AS x (c, t)";

// A waiter's client holds the shared advisory lock of the channel's number, which two columns show in halves.
constexpr const char* send_to_all =
    "SELECT (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND ((classid::bigint << 32) | objid::bigint) = $3::bigint AND pid <> $4::bigint), pg_notify($1, $2)";

constexpr const char* clients =
    "SELECT DISTINCT application_name FROM pg_stat_activity"
    " WHERE application_name LIKE 'holdfast:%' AND datname = current_database()";

std::string list_of_blobs(const std::vector<std::string>& all) {
    std::string list = "{";
    for (const auto& one : all)
        list.append(list.size() > 1 ? "," : "").append("\"\\\\x" + base::to_hex(one) + '"');
    return list + '}';
}
std::string list_of_texts(const std::vector<std::string>& all) {
    std::string list = "{";
    for (const auto& one : all) list.append(list.size() > 1 ? "," : "").append('"' + one + '"');
    return list + '}';
}
std::string list_of_numbers(const std::vector<std::int64_t>& all) {
    std::string list = "{";
    for (const auto one : all) list.append(list.size() > 1 ? "," : "").append(std::to_string(one));
    return list + '}';
}

}  // namespace

const sql_backend::dialect& dialect() {
    static const sql_backend::dialect words{
        .load = {"holdfast_load", load},
        .insert = {"holdfast_insert", insert, true},
        .save = {"holdfast_save", save, true},
        .save_at = {"holdfast_save_at", save_at, true},
        .load_many = {"holdfast_load_many", load_many},
        .save_many = {"holdfast_save_many", save_many, true},
        .scan = {"holdfast_scan", scan},
        .unused = {"", unused},
        .remove = {"", remove, true},
        // A commit that was cancelled while it waited for a replica is no proof: so the read is a change,
        // too.
        .registers = {.read = {"", read_register, true},
                      .insert = {"", insert, true},
                      .save = {"", save, true}},
        .send = {"holdfast_send", send},
        .send_to_all = {"holdfast_send_to_all", send_to_all},
        .clients = {"holdfast_clients", clients},
        .clock = {"holdfast_clock", "SELECT " HOLDFAST_MICROSECONDS},
        .list_of_blobs = list_of_blobs,
        .list_of_texts = list_of_texts,
        .list_of_numbers = list_of_numbers,
    };
    return words;
}

const table& table_of_locks(sql_backend::layout of) noexcept {
    if (of == sql_backend::layout::shedlock) return table_of_shedlock();
    static const table ours{"holdfast_lock", "name, record, version", "SELECT, INSERT, UPDATE, DELETE",
                            "CREATE TABLE IF NOT EXISTS holdfast_lock (\n"
                            "    name bytea PRIMARY KEY,\n"
                            "    record bytea NOT NULL,\n"
                            "    version bigint NOT NULL,\n"
                            "    changed date NOT NULL DEFAULT current_date\n"
                            ") WITH (fillfactor = 50);\n"
                            "COMMENT ON TABLE holdfast_lock IS 'locks of holdfast, layout 1';\n"};
    return ours;
}

const table& table_of_runs() noexcept {
    static const table runs{
        "holdfast_run", "run, since", "SELECT, INSERT",
        "CREATE UNLOGGED TABLE IF NOT EXISTS holdfast_run (\n"
        "    one boolean PRIMARY KEY DEFAULT true CHECK (one),\n"
        "    run text NOT NULL,\n"
        "    since timestamptz NOT NULL\n"
        ");\n"
        "COMMENT ON TABLE holdfast_run IS 'empty when this server may have lost commits of "
        "holdfast_lock';\n"};
    return runs;
}

std::string schema_for(std::string_view url) {
    const auto to = parse_url(url);
    std::string user = "app";
    for (const auto& [name, value] : to.parameters)
        if (name == "user") user = value;
    std::string quoted = "\"";
    for (const char c : user) quoted.append(c == '"' ? 2 : 1, c);
    quoted += '"';
    std::string all;
    const auto add = [&](const table& one) {
        all.append(one.sql).append("GRANT ").append(one.rights).append(" ON ").append(one.name);
        all.append(" TO ").append(quoted).append(";\n");
    };
    add(table_of_locks(to.table));
    if (to.table == sql_backend::layout::holdfast) add(table_of_runs());
    return all;
}

}  // namespace holdfast::postgres_backend
