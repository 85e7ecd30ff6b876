#include "lab/base/database.hpp"

#include <sqlite3.h>

#include <chrono>
#include <string_view>

namespace holdfast::lab {

namespace {

// Another process holds the database only briefly.
constexpr int patience_ms = 20'000;

struct finish {
    void operator()(sqlite3_stmt* s) const noexcept { ::sqlite3_finalize(s); }
};
struct free_text {
    void operator()(char* text) const noexcept { ::sqlite3_free(text); }
};

// The database's own clock, in milliseconds since 1970.
void now_ms(sqlite3_context* asked, int, sqlite3_value**) {
    using namespace std::chrono;
    ::sqlite3_result_int64(asked,
                           duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
}

std::string in_one_line(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool space = c == ' ' || c == '\n';
        if (!space || (!out.empty() && out.back() != ' ')) out += space ? ' ' : c;
    }
    return out;
}

}  // namespace

void database::closer::operator()(sqlite3* db) const noexcept { ::sqlite3_close_v2(db); }

database::database(const std::string& file) {
    sqlite3* opened = nullptr;
    const auto code = ::sqlite3_open(file.c_str(), &opened);
    db_.reset(opened);
    if (code != SQLITE_OK) throw sql_failed(::sqlite3_errstr(code));
    ::sqlite3_busy_timeout(opened, patience_ms);
    ::sqlite3_create_function(opened, "now_ms", 0, SQLITE_UTF8, nullptr, now_ms, nullptr, nullptr);
}

sql_answer database::run(const std::string& statement, const std::vector<std::string>& values) {
    sqlite3_stmt* raw = nullptr;
    const bool understood =
        ::sqlite3_prepare_v2(db_.get(), statement.c_str(), -1, &raw, nullptr) == SQLITE_OK;
    const std::unique_ptr<sqlite3_stmt, finish> prepared{raw};
    if (!understood) throw sql_failed(::sqlite3_errmsg(db_.get()));
    for (std::size_t i = 0; i < values.size(); ++i) {
        ::sqlite3_bind_text(raw, static_cast<int>(i) + 1, values[i].data(),
                            static_cast<int>(values[i].size()), SQLITE_TRANSIENT);
    }
    sql_answer answer;
    const std::unique_ptr<char, free_text> sent{::sqlite3_expanded_sql(raw)};
    answer.sent = in_one_line(sent ? sent.get() : statement);
    int code = ::sqlite3_step(raw);
    if (code == SQLITE_ROW) {
        for (int i = 0; i < ::sqlite3_column_count(raw); ++i) {
            const auto* const text = ::sqlite3_column_text(raw, i);
            answer.columns.emplace_back(text != nullptr ? reinterpret_cast<const char*>(text) : "");
        }
        while (code == SQLITE_ROW) code = ::sqlite3_step(raw);
    }
    if (code != SQLITE_DONE) throw sql_failed(::sqlite3_errmsg(db_.get()));
    answer.rows = ::sqlite3_stmt_readonly(raw) != 0 ? 0 : ::sqlite3_changes(db_.get());
    return answer;
}

}  // namespace holdfast::lab
