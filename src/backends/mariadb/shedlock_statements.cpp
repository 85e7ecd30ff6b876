#include "backends/mariadb/shedlock_statements.hpp"

namespace holdfast::mariadb_backend {

namespace {

// What ShedLock takes for now: the start of the statement. One that waits for the row does not take a lock
// that became free meanwhile, nor does a lease that it writes begin later than its answer tells.
#define HOLDFAST_NOW "UTC_TIMESTAMP(3)"
#define HOLDFAST_UNTIL HOLDFAST_NOW " + INTERVAL $3 * 1000 MICROSECOND"
#define HOLDFAST_LEFT "CEILING(TIMESTAMPDIFF(MICROSECOND, " HOLDFAST_NOW ", lock_until) / 1000)"

constexpr const char* look = "SELECT locked_by, " HOLDFAST_LEFT " FROM shedlock WHERE name = $1";

// The first statement makes the row if there is none, free; the second takes a row that is free. The answer
// is the number of rows that it found: that of the first says nothing. Columns are assigned from left to
// right, so lock_until comes before the owner that it depends on.
constexpr const char* lock =
    "INSERT INTO shedlock (name, lock_until, locked_at, locked_by) VALUES ($1, " HOLDFAST_NOW
    ", " HOLDFAST_NOW
    ", $2) ON DUPLICATE KEY UPDATE name = shedlock.name;"
    " UPDATE shedlock SET lock_until = IF(locked_by = $2, GREATEST(lock_until, " HOLDFAST_UNTIL
    "), " HOLDFAST_UNTIL "), locked_at = " HOLDFAST_NOW
    ", locked_by = $2 WHERE name = $1 AND (lock_until <= " HOLDFAST_NOW " OR locked_by = $2)";

constexpr const char* extend = "UPDATE shedlock SET lock_until = GREATEST(lock_until, " HOLDFAST_UNTIL
                               ") WHERE name = $1 AND locked_by = $2 AND lock_until > " HOLDFAST_NOW;

// MariaDB has no UPDATE that returns a row.
constexpr const char* unlock = "UPDATE shedlock SET lock_until = IF((@holdfast_left := " HOLDFAST_LEFT
                               ") IS NULL, lock_until, " HOLDFAST_NOW
                               ") WHERE name = $1 AND locked_by = $2 AND lock_until > " HOLDFAST_NOW
                               "; SELECT @holdfast_left FROM DUAL WHERE ROW_COUNT() = 1";

constexpr const char* scan_locked =
    "SELECT name, locked_by, " HOLDFAST_LEFT " FROM shedlock WHERE name > $1 AND lock_until > " HOLDFAST_NOW
    " ORDER BY name LIMIT $2";

}  // namespace

const sql_backend::shedlock_dialect& shedlock_dialect() {
    static const sql_backend::shedlock_dialect words{
        .look = {"", look},
        .lock = {"", lock, true},
        .extend = {"", extend, true},
        .unlock = {"", unlock, true},
        .scan = {"", scan_locked},
    };
    return words;
}

// ShedLock's documentation has TIMESTAMP(3), which means another time in a session of another time zone.
const sql_backend::table& table_of_shedlock() noexcept {
    static const sql_backend::table theirs{"shedlock", "name, lock_until, locked_at, locked_by",
                                           "SELECT, INSERT, UPDATE",
                                           "CREATE TABLE IF NOT EXISTS shedlock (\n"
                                           "    name varchar(64) NOT NULL PRIMARY KEY,\n"
                                           "    lock_until datetime(3) NOT NULL,\n"
                                           "    locked_at datetime(3) NOT NULL,\n"
                                           "    locked_by varchar(255) NOT NULL\n"
                                           ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;\n"};
    return theirs;
}

}  // namespace holdfast::mariadb_backend
