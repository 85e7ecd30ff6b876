// Locks in the table of ShedLock, a Java library that keeps a scheduled task from running twice at a time.
#pragma once

#include "backends/services.hpp"
#include "backends/sql/database.hpp"
#include "backends/sql/database_store.hpp"

#include <memory>

namespace holdfast::sql_backend {

// A row has name, lock_until, locked_at and locked_by, and stays; the lock is free from lock_until on. All
// times are the database's, in UTC, as with ShedLock's usingDbTime(). The owner of a lock is unique in
// locked_by; ShedLock writes a host name there.
struct shedlock_dialect {
    // (name) -> locked_by, milliseconds until it is free; no row: it was never locked.
    prepared look;
    // (name, owner, milliseconds) -> one row; none: another owner has it. An owner that has it keeps what it
    // has of its time.
    prepared lock;
    // (name, owner, milliseconds) -> one row; none: the owner does not have it.
    prepared extend;
    // (name, owner) -> the milliseconds that were left; no row: the owner did not have it.
    prepared unlock;
    // (greater than this name, at most) -> name, locked_by, milliseconds: those that are locked, in order.
    prepared scan;
};

struct shedlock_parts {
    const shedlock_dialect& speaks;  // lives as long as the program
    std::unique_ptr<database> statements;
    examiner examine;
};

// Mutexes without a fence. There is no queue and there are no messages: waiters poll.
[[nodiscard]] std::unique_ptr<backend::store> open_shedlock(const backends::services& given,
                                                            shedlock_parts parts);

}  // namespace holdfast::sql_backend
