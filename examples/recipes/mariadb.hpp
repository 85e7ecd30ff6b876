// The recipes' data in MariaDB or MySQL.
#pragma once

#include "database.hpp"

#include <mysql.h>
#include <mysqld_error.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace recipes {

struct mariadb_address {
    std::string host;
    unsigned port = 3306;
    std::string user;
    std::string password;
    std::string database;
};

class mariadb_database final : public database {
  public:
    explicit mariadb_database(const mariadb_address& at) : connection_(mysql_init(nullptr), &mysql_close) {
        mysql_options(connection_.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
        // Without CLIENT_FOUND_ROWS a row that had the new values before would not count as written.
        if (mysql_real_connect(connection_.get(), at.host.c_str(), at.user.c_str(), at.password.c_str(),
                               at.database.c_str(), at.port, nullptr, CLIENT_FOUND_ROWS) == nullptr)
            fail();
    }

    // An upsert with a condition counts its row also if the condition is false, so read the fence again.
    [[nodiscard]] bool check_fence(const std::string& resource, std::int64_t fence) override {
        run("INSERT INTO holdfast_fences (resource, fence) VALUES ($1, $2) "
            "ON DUPLICATE KEY UPDATE fence = GREATEST(fence, VALUES(fence))",
            resource, fence);
        return find("SELECT fence FROM holdfast_fences WHERE resource = $1", resource) ==
               std::to_string(fence);
    }

  private:
    answer execute(const std::string& sql, const std::vector<value>& values) override {
        const auto text = with_values(sql, values);
        if (mysql_real_query(connection_.get(), text.data(), text.size()) != 0) fail();
        answer all;
        const std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> result{mysql_store_result(connection_.get()),
                                                                      &mysql_free_result};
        if (mysql_errno(connection_.get()) != 0) fail();
        if (!result) {
            all.written = static_cast<int>(mysql_affected_rows(connection_.get()));
            return all;
        }
        while (const MYSQL_ROW line = mysql_fetch_row(result.get())) {
            auto& r = all.rows.emplace_back();
            for (unsigned i = 0; i < mysql_num_fields(result.get()); ++i)
                r.emplace_back(line[i] == nullptr ? "" : line[i]);
        }
        return all;
    }
    // Its prepared statements have only "?", so the values are written into the text, as literals.
    [[nodiscard]] std::string with_values(const std::string& sql, const std::vector<value>& values) const {
        std::string made;
        for (std::size_t i = 0; i < sql.size(); ++i) {
            if (sql[i] != '$') {
                made += sql[i];
                continue;
            }
            made += literal(values.at(static_cast<std::size_t>(sql.at(++i) - '1')));
        }
        return made;
    }
    [[nodiscard]] std::string literal(const value& v) const {
        if (const auto* const n = std::get_if<std::int64_t>(&v)) return std::to_string(*n);
        const auto& text = std::get<std::string>(v);
        std::string escaped(2 * text.size() + 1, '\0');
        escaped.resize(mysql_real_escape_string(connection_.get(), escaped.data(), text.data(), text.size()));
        return '\'' + escaped + '\'';
    }
    [[noreturn]] void fail() const {
        const std::string why = mysql_error(connection_.get());
        if (mysql_errno(connection_.get()) == ER_DUP_ENTRY) throw duplicate(why);
        throw std::runtime_error(why);
    }

    std::unique_ptr<MYSQL, void (*)(MYSQL*)> connection_;
};

}  // namespace recipes
