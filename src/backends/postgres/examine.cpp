#include "backends/postgres/examine.hpp"

#include "backends/postgres/schema.hpp"
#include "base/clock.hpp"

#include <memory>
#include <string>
#include <utility>

namespace holdfast::postgres_backend {

namespace {

using sql_backend::number;
using sql_backend::row;

// One row; the columns are read in this order below.
#define HOLDFAST_FACTS(table)                                                                              \
    "SELECT current_setting('server_version'), pg_is_in_recovery()::int, current_setting('fsync'),"        \
    " current_setting('full_page_writes'), current_setting('synchronous_commit'),"                         \
    " current_setting('synchronous_standby_names'), (SELECT relpersistence::text FROM pg_class"            \
    " WHERE oid = to_regclass('" table                                                                     \
    "')), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,"                                      \
    " (SELECT count(*) FROM pg_stat_replication), (SELECT bool_and(has_table_privilege(oid, r))::int FROM" \
    " unnest('{SELECT,INSERT,UPDATE}'::text[]) AS r, pg_class WHERE oid = to_regclass('" table             \
    "')),"                                                                                                 \
    " (SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL"                               \
    " AND xact_start < clock_timestamp() - interval '5 minutes'),"                                         \
    " (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit')"
const sql_backend::prepared facts_of_ours{"", HOLDFAST_FACTS("holdfast_lock")};
const sql_backend::prepared facts_of_shedlock{"", HOLDFAST_FACTS("shedlock")};
constexpr std::size_t columns = 12;

class judge {
  public:
    judge(const row& r, std::string subject, std::string table, bool shared)
        : r_(r), subject_(std::move(subject)), table_(std::move(table)), shared_(shared) {}

    std::vector<finding> all() {
        disk();
        commits();
        replicas();
        table();
        old_transactions();
        return std::move(found_);
    }

  private:
    [[nodiscard]] std::string text(std::size_t i) const { return r_[i].value_or(""); }
    void add(const char* id, severity how_bad, std::string found, std::string meaning, std::string mending,
             promise falls) {
        found_.push_back(
            {id, how_bad, subject_, std::move(found), std::move(meaning), std::move(mending), falls});
    }

    void disk() {
        const bool fsync = text(2) == "on";
        const bool whole_pages = text(3) == "on";
        if (!fsync || !whole_pages) {
            add("pg-fsync", severity::danger, fsync ? "full_page_writes is off" : "fsync is off",
                "a crash of the machine may lose or damage locks that were granted", "set both to on",
                promise::timed);
        } else {
            add("pg-fsync", severity::ok, "fsync and full_page_writes are on", {}, {}, promise::timed);
        }
    }
    // Our own statements turn it on.
    void commits() {
        if (text(11) != "off") return;
        add("pg-synchronous-commit", shared_ ? severity::warning : severity::note,
            "synchronous_commit is off by default",
            shared_ ? "a crash of the server may lose a lock that ShedLock was granted"
                    : "locks of holdfast are committed synchronously all the same",
            shared_ ? "set synchronous_commit to on" : "", shared_ ? promise::timed : promise::none);
    }
    void replicas() {
        if (number(r_[8]) == 0) {
            add("pg-replicas", severity::ok, "no replica is connected", {}, {}, promise::timed);
        } else if (!text(5).empty() && (text(4) == "on" || text(4) == "off" || text(4) == "remote_apply")) {
            add("pg-replicas", severity::ok, "commits wait for the replicas in synchronous_standby_names", {},
                {}, promise::timed);
        } else {
            add("pg-replicas", severity::warning, "a replica follows asynchronously",
                "if it is promoted, it may lack the latest grants, and grant them again",
                "set synchronous_standby_names", promise::timed);
        }
    }
    void table() {
        if (!r_[6]) {
            add("pg-table", severity::danger, "there is no table " + table_, "no lock can be acquired",
                "open the store once with ?create=true", promise::live);
        } else if (text(6) != "p") {
            add("pg-table", severity::danger, "the table " + table_ + " is not permanent",
                "a crash of the server empties it", "ALTER TABLE " + table_ + " SET LOGGED", promise::timed);
        } else if (number(r_[9]) == 0) {
            add("pg-table", severity::danger,
                "this user may not SELECT, INSERT and UPDATE in the table " + table_,
                "no lock can be acquired", "GRANT SELECT, INSERT, UPDATE ON " + table_ + " TO the user",
                promise::live);
        } else {
            add("pg-table", severity::ok, "the table " + table_ + " is there, and this user may use it", {},
                {}, promise::live);
        }
    }
    void old_transactions() {
        const auto n = number(r_[10]);
        if (n == 0) {
            add("pg-old-transactions", severity::ok, "no transaction is older than five minutes", {}, {},
                promise::none);
        } else {
            add("pg-old-transactions", severity::note,
                std::to_string(n) + " transactions are older than five minutes",
                "rows of locks that change often become slow, because old versions of them cannot be removed",
                "end those transactions", promise::none);
        }
    }

    const row& r_;
    const std::string subject_;
    const std::string table_;
    const bool shared_;  // with ShedLock
    std::vector<finding> found_;
};

}  // namespace

void examine(sql_backend::layout of, sql_backend::database& on, sql_backend::time_point deadline,
             sql_backend::handler<backend::result<examination>> done) {
    using answer = backend::result<examination>;
    const auto asked_at = base::wall_microseconds();
    auto shared = std::make_shared<sql_backend::handler<answer>>(std::move(done));
    const auto& facts = of == sql_backend::layout::shedlock ? facts_of_shedlock : facts_of_ours;
    on.run({&facts, {}}, deadline, [shared, asked_at, of](const sql_backend::outcome& result) {
        if (const auto* const no = std::get_if<sql_backend::fault>(&result))
            return (*shared)(answer{no->why});
        const auto& all = std::get<sql_backend::rows>(result);
        if (all.size() != 1 || all[0].size() != columns)
            return (*shared)(
                answer{backend::failure{make_error_code(errc::bad_reply), "the server hides its settings"}});
        const auto& r = all[0];
        const auto took = base::wall_microseconds() - asked_at;
        examined_server server;
        server.version = "PostgreSQL " + r[0].value_or("");
        server.role = number(r[1]) != 0 ? "replica" : "primary";
        server.clock_offset = std::chrono::microseconds{number(r[7]) - asked_at - took / 2};
        server.clock_error = std::chrono::microseconds{took / 2};
        server.round_trip = std::chrono::microseconds{took};
        const auto subject = server.version;
        (*shared)(answer{examination{
            {std::move(server)},
            judge(r, subject, table_of_locks(of).name, of == sql_backend::layout::shedlock).all()}});
    });
}

}  // namespace holdfast::postgres_backend
