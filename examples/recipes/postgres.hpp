// The recipes' data in PostgreSQL.
#pragma once

#include "database.hpp"

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace recipes {

class postgres_database final : public database {
  public:
    // As libpq takes it: postgres://user:password@host:port/database
    explicit postgres_database(const std::string& url) : connection_(PQconnectdb(url.c_str()), &PQfinish) {
        if (PQstatus(connection_.get()) != CONNECTION_OK)
            throw std::runtime_error(PQerrorMessage(connection_.get()));
        PQsetNoticeProcessor(
            connection_.get(), [](void*, const char*) {}, nullptr);  // "it already exists"
    }

  private:
    answer execute(const std::string& sql, const std::vector<value>& values) override {
        constexpr Oid bigint = 20, text = 25;
        std::vector<std::string> texts;
        std::vector<Oid> types;
        for (const auto& v : values) {
            const auto* const n = std::get_if<std::int64_t>(&v);
            texts.push_back(n != nullptr ? std::to_string(*n) : std::get<std::string>(v));
            types.push_back(n != nullptr ? bigint : text);
        }
        std::vector<const char*> pointers;
        for (const auto& one : texts) pointers.push_back(one.c_str());
        const std::unique_ptr<PGresult, void (*)(PGresult*)> result{
            PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(values.size()), types.data(),
                         pointers.data(), nullptr, nullptr, 0),
            &PQclear};
        const auto status = PQresultStatus(result.get());
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail(*result);
        answer all;
        for (int i = 0; i < PQntuples(result.get()); ++i) {
            auto& r = all.rows.emplace_back();
            for (int c = 0; c < PQnfields(result.get()); ++c) r.emplace_back(PQgetvalue(result.get(), i, c));
        }
        const std::string_view written = PQcmdTuples(result.get());
        all.written = written.empty() ? 0 : std::stoi(std::string{written});
        return all;
    }
    [[noreturn]] void fail(const PGresult& result) const {
        const std::string why = PQerrorMessage(connection_.get());
        const char* const state = PQresultErrorField(&result, PG_DIAG_SQLSTATE);
        if (state != nullptr && std::string_view{state} == "23505") throw duplicate(why);  // unique_violation
        throw std::runtime_error(why);
    }

    std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

}  // namespace recipes
