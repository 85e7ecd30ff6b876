#include "cli/demo/ledger.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace holdfast::cli::demo {

namespace {

// Nothing needs to survive a crash here, and so a write takes only a few microseconds.
constexpr auto settings = R"(
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = OFF;
    PRAGMA mmap_size = 67108864;
)";

constexpr auto empty_books = R"(
    CREATE TABLE stock (items INTEGER NOT NULL, version INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE sale (process INTEGER NOT NULL);
    CREATE TABLE cache (price INTEGER NOT NULL);
    CREATE TABLE rebuild (process INTEGER NOT NULL);
    CREATE TABLE answer (process INTEGER NOT NULL, sold INTEGER NOT NULL, wait_us INTEGER NOT NULL);
)";

// Another connection writes. That takes microseconds, and most of the time would go to SQLite's own pauses of
// milliseconds.
int wait_for_the_writer(void* /*unused*/, int tries) {
    if (tries < 4) {
        ::sched_yield();
    } else {
        ::usleep(static_cast<useconds_t>(std::min(tries, 20)) * 25);
    }
    return 1;
}

sqlite3* open(const std::filesystem::path& file, int flags) {
    // SQLite's memory statistics use a mutex that all threads of a process share.
    static const int configured = ::sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    (void)configured;
    sqlite3* db = nullptr;
    if (::sqlite3_open_v2(file.c_str(), &db, flags | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) {
        const std::string why = db != nullptr ? ::sqlite3_errmsg(db) : "out of memory";
        ::sqlite3_close(db);
        throw std::runtime_error(fmt::format("the database {} cannot be opened: {}", file.string(), why));
    }
    ::sqlite3_busy_handler(db, wait_for_the_writer, nullptr);
    return db;
}

[[noreturn]] void fail(sqlite3* db) {
    throw std::runtime_error(fmt::format("the database says: {}", ::sqlite3_errmsg(db)));
}

}  // namespace

void ledger::closer::operator()(sqlite3* db) const noexcept { ::sqlite3_close(db); }
void ledger::closer::operator()(sqlite3_stmt* statement) const noexcept { ::sqlite3_finalize(statement); }

void ledger::create(const std::filesystem::path& file, std::int64_t stock) {
    const connection db{open(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)};
    for (const auto& sql : {std::string{settings}, std::string{empty_books},
                            fmt::format("INSERT INTO stock (items) VALUES ({})", stock)}) {
        if (::sqlite3_exec(db.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(db.get());
    }
}

ledger::ledger(const std::filesystem::path& file) : db_(open(file, SQLITE_OPEN_READWRITE)) {
    run(settings);
    read_left_ = prepare("SELECT items FROM stock");
    write_left_ = prepare("UPDATE stock SET items = ?");
    insert_sale_ = prepare("INSERT INTO sale VALUES (?)");
    read_price_ = prepare("SELECT count(*) FROM cache");
    insert_rebuild_ = prepare("INSERT INTO rebuild VALUES (?)");
    write_price_ = prepare("INSERT OR REPLACE INTO cache (rowid, price) VALUES (1, 1999)");
    last_sale_ = prepare("SELECT max(rowid) FROM sale");
    read_version_ = prepare("SELECT items, version FROM stock");
    sell_version_ =
        prepare("UPDATE stock SET items = items - 1, version = version + 1 WHERE version = ? AND items > 0");
}

ledger::statement ledger::prepare(const char* sql) const {
    sqlite3_stmt* made = nullptr;
    if (::sqlite3_prepare_v3(db_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr) != SQLITE_OK)
        fail(db_.get());
    return statement{made};
}

std::int64_t ledger::run(const statement& what) const {
    while (true) {
        const int result = ::sqlite3_step(what.get());
        const std::int64_t value = result == SQLITE_ROW ? ::sqlite3_column_int64(what.get(), 0) : 0;
        ::sqlite3_reset(what.get());  // ends the transaction
        if (result == SQLITE_ROW || result == SQLITE_DONE) return value;
        // PROTOCOL: too many readers and writers began at once. Nothing was changed.
        if ((result & 0xff) != SQLITE_BUSY && result != SQLITE_PROTOCOL) fail(db_.get());
        wait_for_the_writer(nullptr, 4);
    }
}

std::int64_t ledger::run(const statement& what, std::int64_t first) const {
    ::sqlite3_bind_int64(what.get(), 1, first);
    return run(what);
}

void ledger::run(const char* sql) const {
    if (::sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(db_.get());
}

std::int64_t ledger::stock_left() { return run(read_left_); }
void ledger::write_stock_left(std::int64_t left) { run(write_left_, left); }
void ledger::record_sale(int process) { run(insert_sale_, process); }

ledger::version ledger::stock_version() {
    version seen;
    while (true) {
        const int result = ::sqlite3_step(read_version_.get());
        if (result == SQLITE_ROW)
            seen = {::sqlite3_column_int64(read_version_.get(), 0),
                    ::sqlite3_column_int64(read_version_.get(), 1)};
        ::sqlite3_reset(read_version_.get());
        if (result == SQLITE_ROW) return seen;
        if ((result & 0xff) != SQLITE_BUSY && result != SQLITE_PROTOCOL) fail(db_.get());
        wait_for_the_writer(nullptr, 4);
    }
}

bool ledger::sell_one_of(const version& seen, int process) {
    run("BEGIN IMMEDIATE");
    run(sell_version_, seen.number);
    const bool sold = ::sqlite3_changes(db_.get()) == 1;
    if (sold) run(insert_sale_, process);
    run("COMMIT");
    return sold;
}

bool ledger::price_is_cached() { return run(read_price_) > 0; }
void ledger::record_rebuild(int process) { run(insert_rebuild_, process); }
void ledger::cache_price() { run(write_price_); }

void ledger::record_answers(int process, std::span<const answer> answers) {
    const auto insert = prepare("INSERT INTO answer VALUES (?, ?, ?)");
    run("BEGIN IMMEDIATE");
    for (const auto& one : answers) {
        ::sqlite3_bind_int(insert.get(), 2, one.sold ? 1 : 0);
        ::sqlite3_bind_int64(insert.get(), 3, one.wait_us);
        run(insert, process);
    }
    run("COMMIT");
}

// Rows are only added, so the number of the last row is their count.
std::int64_t ledger::sales_so_far() { return run(last_sale_); }

totals ledger::sum_up() {
    const auto ask = [this](const std::string& sql) { return run(prepare(sql.c_str())); };
    totals all;
    all.left = stock_left();
    all.sold = ask("SELECT count(*) FROM sale");
    all.answered = ask("SELECT count(*) FROM answer");
    all.refused = ask("SELECT count(*) FROM answer WHERE NOT sold");
    all.rebuilds = ask("SELECT count(*) FROM rebuild");
    const auto wait = [&](std::int64_t percent) {
        return ask(fmt::format("SELECT wait_us FROM answer ORDER BY wait_us LIMIT 1 OFFSET {}",
                               std::max<std::int64_t>(all.answered - 1, 0) * percent / 100));
    };
    all.wait_p50_us = wait(50);
    all.wait_p99_us = wait(99);
    return all;
}

}  // namespace holdfast::cli::demo
