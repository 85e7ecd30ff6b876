#include "backends/sqlite/database.hpp"

#include "base/fork.hpp"
#include "base/owned_fd.hpp"

#include <holdfast/error.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <thread>
#include <utility>

namespace holdfast::sqlite_backend {

namespace {

using namespace std::chrono_literals;

// SQLite would make the file readable for all. And if somebody has deleted the file alone, SQLite would put
// the log that is left into the new file. No other process makes the file meanwhile, so none has a new log.
void create_if_missing(const std::string& path) {
    const auto folder = std::filesystem::path{path}.parent_path();
    const base::owned_fd one_at_a_time{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!one_at_a_time && (errno == EMFILE || errno == ENFILE)) {
        throw database_error(database_error::effect::none,
                             {make_error_code(errc::unavailable),
                              "SQLite cannot use " + path + ": " + std::generic_category().message(errno)});
    }
    if (one_at_a_time) ::flock(one_at_a_time.get(), LOCK_EX);
    if (::access(path.c_str(), F_OK) == 0) return;
    for (const char* const left : {"-wal", "-shm"}) ::unlink((path + left).c_str());
    const base::owned_fd made{::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)};
}

// The databases that are open, and the fork_generation() in which they were opened.
std::atomic<int> open_files{0};
std::atomic<std::uint64_t> opened_in{0};

errc kind_of(int code, int system_error) {
    switch (code & 0xff) {
        case SQLITE_FULL: return errc::out_of_memory;
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_AUTH: return errc::no_permission;
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB: return errc::bad_reply;
        default: break;
    }
    if (system_error == EACCES || system_error == EPERM || system_error == EROFS) return errc::no_permission;
    if (system_error == ENOSPC || system_error == EDQUOT) return errc::out_of_memory;
    return errc::unavailable;
}

}  // namespace

// --- statement --------------------------------------------------------------------------------------

statement::statement(database& on, std::string_view sql) : on_(on) {
    const int code = sqlite3_prepare_v3(on.handle_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &handle_, nullptr);
    if (code != SQLITE_OK) on.fail(code);
}

statement::~statement() {
    if (on_.handle_ != nullptr) sqlite3_finalize(handle_);
}

statement& statement::bind(int at, std::string_view blob) {
    // A null pointer would be NULL, which is equal to nothing.
    sqlite3_bind_blob64(handle_, at, blob.empty() ? "" : blob.data(), blob.size(), SQLITE_STATIC);
    return *this;
}

statement& statement::bind_text(int at, std::string_view text) {
    sqlite3_bind_text64(handle_, at, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
    return *this;
}

statement& statement::bind(int at, std::int64_t number) {
    sqlite3_bind_int64(handle_, at, number);
    return *this;
}

bool statement::step(database_error::effect if_it_fails) {
    const int code = sqlite3_step(handle_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    on_.fail(code, if_it_fails);
}

void statement::run(database_error::effect if_it_fails) {
    const execution now(*this);
    (void)step(if_it_fails);
}

void statement::reset() noexcept {
    sqlite3_reset(handle_);
    sqlite3_clear_bindings(handle_);
}

std::string_view statement::blob(int column) const {
    const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(handle_, column));
    return bytes == nullptr
               ? std::string_view{}
               : std::string_view{bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

std::int64_t statement::number(int column) const { return sqlite3_column_int64(handle_, column); }

// --- database ---------------------------------------------------------------------------------------

database::database(const std::string& path) : path_(path) {
    if (open_files.load() > 0 && opened_in.load() != base::fork_generation()) {
        throw error(
            make_error_code(errc::forked),
            "sqlite: this process was forked while a database was open, so it cannot use one before it "
            "calls exec()");
    }
    opened_in.store(base::fork_generation());
    create_if_missing(path);
    constexpr int how =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    const int code = sqlite3_open_v2(path.c_str(), &handle_, how, nullptr);
    try {
        if (code != SQLITE_OK) fail(code);
        sqlite3_busy_handler(handle_, on_busy, this);
        struct stat about {};
        if (::stat(path.c_str(), &about) == 0) {
            device_ = about.st_dev;
            inode_ = about.st_ino;
        }
    } catch (...) {
        sqlite3_close_v2(std::exchange(handle_, nullptr));
        throw;
    }
    open_files.fetch_add(1);
}

database::~database() {
    begin_to_read_.reset();
    begin_to_write_.reset();
    commit_.reset();
    rollback_.reset();
    if (handle_ == nullptr) return;
    sqlite3_close_v2(handle_);
    open_files.fetch_sub(1);
}

statement& database::prepared(std::unique_ptr<statement>& which, const char* sql) {
    if (!which) which = std::make_unique<statement>(*this, sql);
    return *which;
}

// SQLite's own steps are of a millisecond and more, in which a lock could change hands a hundred times.
int database::on_busy(void* self, int times) noexcept {
    const auto& me = *static_cast<const database*>(self);
    if (boot_clock::now() >= me.patience_ends_) return 0;
    std::this_thread::sleep_for(times < 50 ? 20us : 200us);
    return 1;
}

void database::run(const char* sql) {
    const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) fail(code);
}

std::int64_t database::number_of(const char* sql) {
    statement s(*this, sql);
    return s.step() ? s.number(0) : 0;
}

std::string database::text_of(const char* sql) {
    statement s(*this, sql);
    return s.step() ? std::string{s.blob(0)} : std::string{};
}

bool database::is_in_place() const noexcept {
    struct stat about {};
    return ::stat(path_.c_str(), &about) == 0 && about.st_dev == device_ && about.st_ino == inode_;
}

void database::fail(int code, database_error::effect otherwise) const {
    using effect = database_error::effect;
    if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED) {
        throw database_error(effect::none_busy,
                             {make_error_code(errc::busy_server),
                              "another process is writing to the database " + path_ +
                                  "; one that was stopped while it wrote stops all locks in it"});
    }
    // A commit is the last page in the log, and the page that found no room is not in the log.
    if ((code & 0xff) == SQLITE_FULL) otherwise = effect::none;
    const int system_error = handle_ != nullptr ? sqlite3_system_errno(handle_) : 0;
    std::string said = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
    if (system_error != 0) said += " (" + std::generic_category().message(system_error) + ")";
    const auto kind = kind_of(code, system_error);
    // An answer of the store, for a holder whose renewals it refuses: an operator can make room.
    if (kind == errc::out_of_memory) {
        throw database_error(otherwise, {make_error_code(kind),
                                         "the disk is full: SQLite cannot use " + path_, std::move(said)});
    }
    throw database_error(otherwise, {make_error_code(kind), "SQLite cannot use " + path_ + ": " + said});
}

// --- transaction ------------------------------------------------------------------------------------

transaction::transaction(database& on, access to) : on_(on) {
    // There may be no memory for them later, and a transaction that is left open stops all locks of the file.
    (void)on.prepared(on.commit_, "COMMIT");
    (void)on.prepared(on.rollback_, "ROLLBACK");
    if (to == access::read)
        on.prepared(on.begin_to_read_, "BEGIN").run();
    else
        on.prepared(on.begin_to_write_, "BEGIN IMMEDIATE").run();
}

transaction::~transaction() {
    if (!open_) return;
    try {
        on_.rollback_->run();
    } catch (const std::exception&) {  // SQLite has rolled back by itself
    }
}

void transaction::commit() {
    on_.commit_->run(database_error::effect::unknown);
    open_ = false;
}

}  // namespace holdfast::sqlite_backend
