// A connection to an SQLite database, with the errors of a store.
#pragma once

#include "store/requests.hpp"

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast::sqlite_backend {

using backend::time_point;

// What an SQL statement ended with.
class database_error : public std::exception {
  public:
    enum class effect {
        none,       // nothing was changed
        none_busy,  // nothing was changed, because another process is writing
        unknown,    // the transaction may have been committed
    };
    database_error(effect of, backend::failure why) : effect_(of), why_(std::move(why)) {}

    [[nodiscard]] effect what_happened() const noexcept { return effect_; }
    [[nodiscard]] const backend::failure& why() const noexcept { return why_; }
    [[nodiscard]] const char* what() const noexcept override { return why_.text.c_str(); }

  private:
    effect effect_;
    backend::failure why_;
};

class database;

// A prepared statement. Bind, then step; the text of a column lives until the next step.
class statement {
  public:
    statement(database& on, std::string_view sql);
    statement(const statement&) = delete;
    statement& operator=(const statement&) = delete;
    ~statement();

    // Views must live until reset().
    statement& bind(int at, std::string_view blob);
    statement& bind_text(int at, std::string_view text);
    statement& bind(int at, std::int64_t number);
    // True: there is a row. `if_it_fails`: see database::fail().
    [[nodiscard]] bool step(database_error::effect if_it_fails = database_error::effect::none);
    // For statements without rows.
    void run(database_error::effect if_it_fails = database_error::effect::none);
    // Ends the execution and forgets what was bound.
    void reset() noexcept;
    [[nodiscard]] std::string_view blob(int column) const;
    [[nodiscard]] std::int64_t number(int column) const;

  private:
    database& on_;
    sqlite3_stmt* handle_ = nullptr;
};

// Resets a statement at the end of a scope, so that an exception leaves none executing.
class execution {
  public:
    explicit execution(statement& s) : s_(s) {}
    execution(const execution&) = delete;
    execution& operator=(const execution&) = delete;
    ~execution() { s_.reset(); }
    statement* operator->() noexcept { return &s_; }

  private:
    statement& s_;
};

// For one thread at a time. Functions throw database_error.
class database {
  public:
    // Opens or creates the file, readable and writable for its owner only if it is new. Throws
    // holdfast::error (errc::forked) in a process that was forked while a file was open: SQLite would take
    // the parent's locks for its own.
    explicit database(const std::string& path);
    database(const database&) = delete;
    database& operator=(const database&) = delete;
    ~database();

    void run(const char* sql);
    [[nodiscard]] std::int64_t number_of(const char* sql);
    [[nodiscard]] std::string text_of(const char* sql);

    // Statements that meet another writer wait for it until then, in short steps.
    void wait_for_writers_until(time_point when) noexcept { patience_ends_ = when; }

    // Whether the path still names the file that is open.
    [[nodiscard]] bool is_in_place() const noexcept;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    // In a forked child: the file belongs to the parent.
    void abandon() noexcept { handle_ = nullptr; }

    // `otherwise`: the effect of an error that does not say by itself that nothing was changed.
    [[noreturn]] void fail(int code, database_error::effect otherwise = database_error::effect::none) const;

  private:
    friend class statement;
    friend class transaction;
    static int on_busy(void* self, int times) noexcept;
    statement& prepared(std::unique_ptr<statement>& which, const char* sql);

    const std::string path_;
    sqlite3* handle_ = nullptr;
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
    time_point patience_ends_{};
    std::unique_ptr<statement> begin_to_read_;
    std::unique_ptr<statement> begin_to_write_;
    std::unique_ptr<statement> commit_;
    std::unique_ptr<statement> rollback_;
};

// A writer's: no other process changes what it reads. A reader's waits for no writer, and sees one moment.
enum class access { read, write };

// Rolled back unless commit() is called.
class transaction {
  public:
    explicit transaction(database& on, access to = access::write);
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;
    ~transaction();
    void commit();

  private:
    database& on_;
    bool open_ = true;
};

}  // namespace holdfast::sqlite_backend
