#include "backends/postgres/shedlock_statements.hpp"

namespace holdfast::postgres_backend {

namespace {

// What ShedLock takes for now. It is when the transaction began: a statement that waits for the row does not
// take a lock that became free meanwhile, nor does a lease that it writes begin later than its answer tells.
#define HOLDFAST_UTC "timezone('utc', CURRENT_TIMESTAMP)"
#define HOLDFAST_LEFT "ceil(extract(epoch FROM lock_until - " HOLDFAST_UTC ") * 1000)::bigint"

constexpr const char* look = "SELECT locked_by, " HOLDFAST_LEFT " FROM shedlock WHERE name = $1";

constexpr const char* lock =
    "INSERT INTO shedlock AS s (name, lock_until, locked_at, locked_by) VALUES ($1, " HOLDFAST_UTC
    " + $3::bigint * interval '1 millisecond', " HOLDFAST_UTC
    ", $2) ON CONFLICT (name) DO UPDATE SET locked_at = excluded.locked_at, locked_by = excluded.locked_by,"
    " lock_until = CASE WHEN s.locked_by = excluded.locked_by THEN greatest(s.lock_until, "
    "excluded.lock_until)"
    " ELSE excluded.lock_until END"
    " WHERE s.lock_until <= " HOLDFAST_UTC
    " OR s.locked_by = excluded.locked_by RETURNING 1::bigint, CASE " HOLDFAST_DURABLE " END";

constexpr const char* extend =
    "UPDATE shedlock SET lock_until = greatest(lock_until, " HOLDFAST_UTC
    " + $3::bigint * interval '1 millisecond') WHERE name = $1 AND locked_by = $2 "
    "AND lock_until > " HOLDFAST_UTC " RETURNING 1::bigint, CASE " HOLDFAST_DURABLE " END";

constexpr const char* unlock =
    "WITH mine AS (SELECT name, " HOLDFAST_LEFT
    " AS ms FROM shedlock WHERE name = $1 AND locked_by = $2 AND lock_until > " HOLDFAST_UTC
    " FOR UPDATE) UPDATE shedlock AS s SET lock_until = " HOLDFAST_UTC
    " FROM mine WHERE s.name = mine.name RETURNING mine.ms";

constexpr const char* scan_locked =
    "SELECT name, locked_by, " HOLDFAST_LEFT " FROM shedlock WHERE name > $1 AND lock_until > " HOLDFAST_UTC
    " ORDER BY name LIMIT $2::bigint";

}  // namespace

const sql_backend::shedlock_dialect& shedlock_dialect() {
    static const sql_backend::shedlock_dialect words{
        .look = {"shedlock_look", look},
        .lock = {"shedlock_lock", lock, true},
        .extend = {"shedlock_extend", extend, true},
        .unlock = {"shedlock_unlock", unlock, true},
        .scan = {"shedlock_scan", scan_locked},
    };
    return words;
}

const table& table_of_shedlock() noexcept {
    static const table theirs{"shedlock", "name, lock_until, locked_at, locked_by", "SELECT, INSERT, UPDATE",
                              "CREATE TABLE IF NOT EXISTS shedlock (\n"
                              "    name varchar(64) PRIMARY KEY,\n"
                              "    lock_until timestamp NOT NULL,\n"
                              "    locked_at timestamp NOT NULL,\n"
                              "    locked_by varchar(255) NOT NULL\n"
                              ");\n"};
    return theirs;
}

}  // namespace holdfast::postgres_backend
