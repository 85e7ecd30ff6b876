// The recipes' data in SQLite.
#pragma once

#include "database.hpp"

#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

namespace recipes {

class sqlite_database final : public database {
  public:
    explicit sqlite_database(const std::string& file) {
        sqlite3* opened = nullptr;
        const int code = sqlite3_open(file.c_str(), &opened);
        db_.reset(opened);
        if (code != SQLITE_OK) fail();
        sqlite3_extended_result_codes(opened, 1);
        sqlite3_busy_timeout(opened, 60'000);
        query("PRAGMA journal_mode = WAL");
    }

    // There is one writer at a time. A transaction that reads first must say that it will write.
    [[nodiscard]] std::string begin() const override { return "BEGIN IMMEDIATE"; }
    [[nodiscard]] std::string for_update() const override { return ""; }

  private:
    answer execute(const std::string& sql, const std::vector<value>& values) override {
        sqlite3_stmt* made = nullptr;
        if (sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &made, nullptr) != SQLITE_OK) fail();
        const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement{made, &sqlite3_finalize};
        for (std::size_t i = 0; i < values.size(); ++i) bind(made, i + 1, values[i]);
        answer all;
        int code = SQLITE_ROW;
        while ((code = sqlite3_step(made)) == SQLITE_ROW) {
            auto& r = all.rows.emplace_back();
            for (int i = 0; i < sqlite3_column_count(made); ++i) {
                const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(made, i));
                r.emplace_back(text == nullptr ? "" : text);
            }
        }
        if (code != SQLITE_DONE) fail();
        all.written = sqlite3_changes(db_.get());
        return all;
    }
    static void bind(sqlite3_stmt* to, std::size_t number, const value& v) {
        const int at = sqlite3_bind_parameter_index(to, ("$" + std::to_string(number)).c_str());
        if (const auto* const n = std::get_if<std::int64_t>(&v)) {
            sqlite3_bind_int64(to, at, *n);
        } else {
            const auto& text = std::get<std::string>(v);
            sqlite3_bind_text(to, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
        }
    }
    [[noreturn]] void fail() const {
        const std::string why = sqlite3_errmsg(db_.get());
        const int code = sqlite3_extended_errcode(db_.get());
        if (code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY) throw duplicate(why);
        throw std::runtime_error(why);
    }

    std::unique_ptr<sqlite3, int (*)(sqlite3*)> db_{nullptr, &sqlite3_close};
};

}  // namespace recipes
