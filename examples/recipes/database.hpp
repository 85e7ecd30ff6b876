// The shop's data, for the recipes: what they need of a database. In your program this is the library that
// you use. databases.hpp opens one.
#pragma once

#include <holdfast/fence_check.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace recipes {

// A connection. For one thread at a time. Throws std::runtime_error with the database's words.
class database {
  public:
    using row = std::vector<std::string>;  // NULL is empty
    using value = std::variant<std::int64_t, std::string>;

    // The statement would have broken a UNIQUE or PRIMARY KEY.
    struct duplicate : std::runtime_error {
        using std::runtime_error::runtime_error;
    };

    database() = default;
    database(const database&) = delete;
    database& operator=(const database&) = delete;
    virtual ~database() = default;

    // Returns how many rows it wrote, also those that had the new values before. $1, $2 ... are the values.
    template <class... Values>
    int run(std::string_view sql, const Values&... values) {
        return execute(std::string{sql}, {value_of(values)...}).written;
    }
    template <class... Values>
    std::vector<row> query(std::string_view sql, const Values&... values) {
        return execute(std::string{sql}, {value_of(values)...}).rows;
    }
    // The first column of the only row; empty if there is none.
    template <class... Values>
    std::optional<std::string> find(std::string_view sql, const Values&... values) {
        const auto rows = query(sql, values...);
        if (rows.empty()) return std::nullopt;
        return rows.front().front();
    }

    // --- what the databases say in different words ---------------------------------------------------

    [[nodiscard]] virtual std::string begin() const { return "BEGIN"; }
    // At the end of a SELECT: its rows stay as they are until the transaction ends.
    [[nodiscard]] virtual std::string for_update() const { return " FOR UPDATE"; }
    // In a transaction. False: a newer fence was here.
    [[nodiscard]] virtual bool check_fence(const std::string& resource, std::int64_t fence) {
        return run(holdfast::sql_fence_check, resource, fence) == 1;
    }

  protected:
    struct answer {
        std::vector<row> rows;
        int written = 0;
    };

  private:
    virtual answer execute(const std::string& sql, const std::vector<value>& values) = 0;

    static value value_of(std::string_view text) { return std::string{text}; }
    template <class Number>
    requires std::is_integral_v<Number>
    static value value_of(Number n) { return static_cast<std::int64_t>(n); }
};

// Takes back what was changed, unless commit() was called.
class transaction {
  public:
    explicit transaction(database& in) : in_(in) { in_.run(in_.begin()); }
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;
    ~transaction() {
        if (!open_) return;
        try {
            in_.run("ROLLBACK");
        } catch (const std::runtime_error&) {  // its connection is gone, and so is what was not committed
        }
    }
    void commit() { end("COMMIT"); }
    void roll_back() { end("ROLLBACK"); }

  private:
    void end(const char* how) {
        in_.run(how);
        open_ = false;
    }

    database& in_;
    bool open_ = true;
};

}  // namespace recipes
