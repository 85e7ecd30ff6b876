// Locks in a MariaDB table, against the statements that they need, a row that is polled, and GET_LOCK before
// a row.
#ifdef HOLDFAST_HAS_MARIADB

#include "rows/in_a_table.hpp"
#include "rows/rows.hpp"
#include "support/mariadb_server.hpp"

#include <mysql.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

namespace holdfast::bench {

namespace in_mariadb {

namespace {

using test::mariadb_server;

class by_hand {
  public:
    using server = mariadb_server;
    static constexpr const char* driver = "libmariadb";
    static constexpr const char* gate = "GET_LOCK";
    static constexpr const char* option = "&wake=kill";

    explicit by_hand(const std::string& url) : c_(mysql_init(nullptr), mysql_close) {
        const auto at = url.substr(0, url.find('?'));
        const auto port = std::stoul(at.substr(at.rfind(':') + 1));
        if (mysql_real_connect(c_.get(), "127.0.0.1", "holdfast", nullptr, nullptr,
                               static_cast<unsigned>(port), nullptr, CLIENT_FOUND_ROWS) == nullptr)
            throw std::runtime_error(mysql_error(c_.get()));
        (void)run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    }

    static void make_rows(mariadb_server& on) {
        on.run(
            "CREATE TABLE bench_lock (name varchar(100) PRIMARY KEY, owner varchar(40), until datetime(6))");
        on.run("INSERT INTO bench_lock VALUES ('bench', NULL, NULL)");
        on.run("INSERT INTO bench_lock SELECT CONCAT('bench:', seq), NULL, NULL FROM seq_0_to_" +
               std::to_string(leases_in_a_table - 1));
    }
    // Ours have no database, and stay.
    static void end_sessions(mariadb_server& of) { of.end_sessions(); }

    [[nodiscard]] bool take(const std::string& name = "bench") {
        return run("UPDATE locks.bench_lock SET owner = " + me_ +
                   ", until = UTC_TIMESTAMP(6) + INTERVAL 30 SECOND WHERE name = '" + name +
                   "' AND (owner IS NULL OR until < UTC_TIMESTAMP(6))");
    }
    [[nodiscard]] bool renew(const std::string& name) {
        return run(
            "UPDATE locks.bench_lock SET until = UTC_TIMESTAMP(6) + INTERVAL 30 SECOND WHERE name = '" +
            name + "' AND owner = " + me_);
    }
    void give() {
        if (!run("UPDATE locks.bench_lock SET owner = NULL WHERE name = 'bench' AND owner = " + me_))
            throw std::runtime_error("the row was not held");
    }
    void enter_gate() { (void)run("DO GET_LOCK('bench', 60)"); }
    void leave_gate() { (void)run("DO RELEASE_LOCK('bench')"); }

  private:
    // Whether it has found a row.
    bool run(const std::string& sql) {
        if (mysql_real_query(c_.get(), sql.data(), sql.size()) != 0)
            throw std::runtime_error(mysql_error(c_.get()));
        return mysql_affected_rows(c_.get()) == 1;
    }

    std::unique_ptr<MYSQL, decltype(&mysql_close)> c_;
    const std::string me_ = "'" + std::to_string(::getpid()) + "'";
};

}  // namespace

}  // namespace in_mariadb

std::unique_ptr<row> mariadb_uncontended(redis_server&) {
    return std::make_unique<in_a_table<in_mariadb::by_hand>::one_thread>();
}
std::unique_ptr<row> mariadb_turns(redis_server&) {
    return std::make_unique<in_a_table<in_mariadb::by_hand>::in_turn>();
}
std::unique_ptr<row> mariadb_renewals(redis_server&) {
    return std::make_unique<in_a_table<in_mariadb::by_hand>::many_held>();
}

}  // namespace holdfast::bench

#endif
