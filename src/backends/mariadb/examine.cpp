#include "backends/mariadb/examine.hpp"

#include "backends/mariadb/schema.hpp"
#include "base/clock.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace holdfast::mariadb_backend {

namespace {

using sql_backend::number;
using sql_backend::row;
using sql_backend::rows;

// Names and values. Settings that a server does not know are left out.
#define HOLDFAST_FACTS(table)                                                                        \
    "SELECT LOWER(VARIABLE_NAME), VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES WHERE"     \
    " VARIABLE_NAME IN"                                                                              \
    " ('VERSION', 'READ_ONLY', 'INNODB_FLUSH_LOG_AT_TRX_COMMIT', 'INNODB_DOUBLEWRITE', 'LOG_BIN',"   \
    " 'SYNC_BINLOG', 'WSREP_ON', 'RPL_SEMI_SYNC_MASTER_ENABLED', 'RPL_SEMI_SYNC_MASTER_WAIT_POINT')" \
    " UNION ALL SELECT LOWER(VARIABLE_NAME), VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS"   \
    " WHERE VARIABLE_NAME IN ('SLAVES_CONNECTED')"                                                   \
    " UNION ALL SELECT 'engine', ENGINE FROM information_schema.TABLES"                              \
    " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '" table                                      \
    "' UNION ALL SELECT 'clock', TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
const sql_backend::prepared facts_of_ours{"", HOLDFAST_FACTS("holdfast_lock")};
const sql_backend::prepared facts_of_shedlock{
    "", HOLDFAST_FACTS("shedlock") " UNION ALL SELECT 'type of times', DATA_TYPE FROM"
                                   " information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()"
                                   " AND TABLE_NAME = 'shedlock' AND COLUMN_NAME = 'lock_until'"};

class judge {
  public:
    judge(std::map<std::string, std::string> facts, std::string subject, std::string table)
        : facts_(std::move(facts)), subject_(std::move(subject)), table_(std::move(table)) {}

    std::vector<finding> all() {
        disk();
        replicas();
        table();
        time_zone();
        return std::move(found_);
    }

  private:
    [[nodiscard]] std::string text(const char* name) const {
        const auto found = facts_.find(name);
        return found == facts_.end() ? std::string{} : found->second;
    }
    void add(const char* id, severity how_bad, std::string found, std::string meaning, std::string mending,
             promise falls) {
        found_.push_back(
            {id, how_bad, subject_, std::move(found), std::move(meaning), std::move(mending), falls});
    }

    void disk() {
        const auto flush = text("innodb_flush_log_at_trx_commit");
        if (flush == "0") {
            add("mariadb-flush", severity::danger, "innodb_flush_log_at_trx_commit is 0",
                "a crash of the server loses the locks that were granted in the last second",
                "set it to 1 in the configuration of the server", promise::timed);
        } else if (flush == "2") {
            add("mariadb-flush", severity::warning, "innodb_flush_log_at_trx_commit is 2",
                "a crash of the machine loses the locks that were granted in the last second",
                "set it to 1 in the configuration of the server", promise::timed);
        } else if (text("innodb_doublewrite") == "OFF") {
            add("mariadb-flush", severity::warning, "innodb_doublewrite is off",
                "a crash of the machine may damage the table", "set it to on", promise::timed);
        } else {
            add("mariadb-flush", severity::ok, "each commit is on the disk before it is answered", {}, {},
                promise::timed);
        }
    }
    void replicas() {
        const bool semi_sync = text("rpl_semi_sync_master_enabled") == "ON" &&
                               text("rpl_semi_sync_master_wait_point") == "AFTER_SYNC";
        if (text("wsrep_on") == "ON") {
            add("mariadb-replicas", severity::ok, "a Galera cluster: a commit is on all of its nodes", {}, {},
                promise::timed);
        } else if (text("slaves_connected").empty() || text("slaves_connected") == "0") {
            add("mariadb-replicas", severity::ok, "no replica is connected", {}, {}, promise::timed);
        } else if (semi_sync) {
            add("mariadb-replicas", severity::ok, "commits wait for a replica (semi-synchronous, AFTER_SYNC)",
                {}, {}, promise::timed);
        } else {
            add("mariadb-replicas", severity::warning, "a replica follows asynchronously",
                "if it is promoted, it may lack the latest grants, and grant them again",
                "set rpl_semi_sync_master_enabled, with rpl_semi_sync_master_wait_point = AFTER_SYNC",
                promise::timed);
        }
    }
    void table() {
        const auto engine = text("engine");
        if (engine.empty()) {
            add("mariadb-table", severity::danger, "this user sees no table " + table_,
                "no lock can be acquired", "see holdfast doctor --sql", promise::live);
        } else if (engine != "InnoDB") {
            add("mariadb-table", severity::danger, "the table " + table_ + " has the engine " + engine,
                "only InnoDB keeps what it has confirmed through a crash",
                "ALTER TABLE " + table_ + " ENGINE = InnoDB", promise::timed);
        } else {
            add("mariadb-table", severity::ok, "the table " + table_ + " is there", {}, {}, promise::live);
        }
    }

    void time_zone() {
        if (text("type of times") != "timestamp") return;
        add("mariadb-time-zone", severity::note, "the times in the table shedlock are TIMESTAMPs",
            "sessions of another time zone read other times: Java and holdfast share a lock only in that of "
            "the server",
            "no session of Java sets a time zone", promise::timed);
    }

    const std::map<std::string, std::string> facts_;
    const std::string subject_;
    const std::string table_;
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
        std::map<std::string, std::string> all;
        for (const auto& r : std::get<rows>(result))
            if (r.size() == 2 && r[0]) all[*r[0]] = r[1].value_or("");
        const auto took = base::wall_microseconds() - asked_at;
        examined_server server;
        server.version = "MariaDB " + all["version"];
        server.role = all["read_only"] == "OFF" ? "primary" : "replica";
        server.clock_offset = std::chrono::microseconds{number(all["clock"]) - asked_at - took / 2};
        server.clock_error = std::chrono::microseconds{took / 2};
        server.round_trip = std::chrono::microseconds{took};
        const auto subject = server.version;
        (*shared)(answer{
            examination{{std::move(server)}, judge(std::move(all), subject, table_of_locks(of).name).all()}});
    });
}

}  // namespace holdfast::mariadb_backend
