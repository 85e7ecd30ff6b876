// Locks in a PostgreSQL table, against the statements that they need, a row that is polled, and an advisory
// lock before a row.
#ifdef HOLDFAST_HAS_POSTGRES

#include "rows/in_a_table.hpp"
#include "rows/rows.hpp"
#include "slow_disk.hpp"
#include "support/postgres_server.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace holdfast::bench {

namespace in_postgres {

namespace {

using test::postgres_server;

// What a program without a library does: rows that have an owner until a time.
class by_hand {
  public:
    using server = postgres_server;
    static constexpr const char* driver = "libpq";
    static constexpr const char* gate = "an advisory lock";

    explicit by_hand(const std::string& url)
        : c_(PQconnectdb(url.substr(0, url.find('?')).c_str()), PQfinish), me_(std::to_string(::getpid())) {
        if (PQstatus(c_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(c_.get()));
        prepare("take",
                "UPDATE bench_lock SET owner = $2, until = clock_timestamp() + interval '30 s'"
                " WHERE name = $1 AND (owner IS NULL OR until < clock_timestamp()) RETURNING name");
        // As ours: that a lock is free needs not be on the disk.
        prepare("give",
                "UPDATE bench_lock SET owner = NULL WHERE name = $1 AND owner = $2"
                " RETURNING name, set_config('synchronous_commit', 'off', true)");
        prepare("renew",
                "UPDATE bench_lock SET until = clock_timestamp() + interval '30 s'"
                " WHERE name = $1 AND owner = $2 RETURNING name");
        prepare("enter", "SELECT pg_advisory_lock(length($1) + length($2) * 0)");
        prepare("leave", "SELECT pg_advisory_unlock(length($1) + length($2) * 0)");
    }

    static void make_rows(postgres_server& on) {
        on.run(
            "CREATE TABLE bench_lock (name text PRIMARY KEY, owner text, until timestamptz)"
            " WITH (fillfactor = 50)");
        on.run("INSERT INTO bench_lock VALUES ('bench')");
        on.run("INSERT INTO bench_lock SELECT 'bench:' || n FROM generate_series(0, " +
               std::to_string(leases_in_a_table - 1) + ") AS g (n)");
    }

    static void end_sessions(postgres_server& of) {
        of.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name LIKE 'holdfast:%'");
    }

    [[nodiscard]] bool take(const std::string& name = "bench") { return run("take", name); }
    [[nodiscard]] bool renew(const std::string& name) { return run("renew", name); }
    void give() {
        if (!run("give", "bench")) throw std::runtime_error("the row was not held");
    }
    void enter_gate() { (void)run("enter", "bench"); }
    void leave_gate() { (void)run("leave", "bench"); }

  private:
    using result = std::unique_ptr<PGresult, decltype(&PQclear)>;

    void prepare(const char* name, const char* sql) {
        const result r{PQprepare(c_.get(), name, sql, 0, nullptr), PQclear};
        if (PQresultStatus(r.get()) != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(c_.get()));
    }
    // Whether it has found a row.
    bool run(const char* name, const std::string& lock) {
        const std::array values{lock.c_str(), me_.c_str()};
        const result r{PQexecPrepared(c_.get(), name, 2, values.data(), nullptr, nullptr, 1), PQclear};
        if (PQresultStatus(r.get()) != PGRES_TUPLES_OK) throw std::runtime_error(PQerrorMessage(c_.get()));
        return PQntuples(r.get()) == 1;
    }

    std::unique_ptr<PGconn, decltype(&PQfinish)> c_;
    const std::string me_;
};

struct turns_on_slow_disk : slow_disk, in_a_table<by_hand>::in_turn {
    turns_on_slow_disk() : slow_disk(2ms), in_turn(environment()) {
        // Turns are few, and processes must not differ by chance.
        for (auto& one : sides)
            one.run = [run = std::move(one.run)](milliseconds span) { return run(4 * span); };
        const auto session = database.connect();
        auto quickest = steady::duration::max();
        for (int i = 0; i < 20; ++i) {
            const auto from = steady::now();
            session->run("UPDATE bench_lock SET owner = NULL WHERE name = 'bench'");
            quickest = std::min(quickest, steady::now() - from);
        }
        if (quickest < by()) throw std::runtime_error("the disk of the server is not slow");
    }
};

}  // namespace

}  // namespace in_postgres

std::unique_ptr<row> postgres_uncontended(redis_server&) {
    return std::make_unique<in_a_table<in_postgres::by_hand>::one_thread>();
}
std::unique_ptr<row> postgres_turns(redis_server&) {
    return std::make_unique<in_a_table<in_postgres::by_hand>::in_turn>();
}
std::unique_ptr<row> postgres_turns_on_slow_disk(redis_server&) {
    return std::make_unique<in_postgres::turns_on_slow_disk>();
}
std::unique_ptr<row> postgres_renewals(redis_server&) {
    return std::make_unique<in_a_table<in_postgres::by_hand>::many_held>();
}

}  // namespace holdfast::bench

#endif
