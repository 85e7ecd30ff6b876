#include "support/mariadb_server.hpp"

#include <mysql.h>

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace holdfast::test {

namespace {

namespace fs = std::filesystem;

// A server that starts deletes what others have there.
std::string own_temporary_files_in(const temp_dir& folder) {
    const auto own = folder.path() / "tmp";
    fs::create_directories(own);
    return "--tmpdir=" + own.string();
}

// Made once, because that takes most of a second; each server has a copy.
const fs::path& fresh_data_of_mariadb() {
    static const temp_dir folder;
    static const fs::path made = [] {
        auto to = folder.path() / "data";
        std::vector<std::string> command{"mariadb-install-db",
                                         "--no-defaults",
                                         "--datadir=" + to.string(),
                                         "--auth-root-authentication-method=normal",
                                         "--skip-test-db",
                                         "--innodb-log-file-size=4M",
                                         own_temporary_files_in(folder)};
        if (::geteuid() == 0) command.emplace_back("--user=root");
        child_process one{command};
        if (const auto code = one.wait(patience); code != 0)
            throw std::runtime_error{"mariadb-install-db: " + one.errors() + one.output()};
        return to;
    }();
    return made;
}

mariadb_server::rows run_on(MYSQL* on, const std::string& sql) {
    mariadb_server::rows all;
    if (mysql_real_query(on, sql.data(), sql.size()) != 0)
        throw std::runtime_error{sql + ": " + mysql_error(on)};
    for (bool more = true; more;) {
        if (MYSQL_RES* const r = mysql_store_result(on)) {
            all.clear();
            while (const MYSQL_ROW line = mysql_fetch_row(r)) {
                const auto* const sizes = mysql_fetch_lengths(r);
                auto& one = all.emplace_back();
                for (unsigned i = 0; i < mysql_num_fields(r); ++i)
                    one.emplace_back(line[i] == nullptr ? std::string{} : std::string(line[i], sizes[i]));
            }
            mysql_free_result(r);
        }
        if (mysql_errno(on) != 0) throw std::runtime_error{sql + ": " + mysql_error(on)};
        const int next = mysql_next_result(on);
        if (next > 0) throw std::runtime_error{sql + ": " + mysql_error(on)};
        more = next == 0;
    }
    return all;
}

}  // namespace

mariadb_server::mariadb_server() : mariadb_server(options{}) {}

mariadb_server::mariadb_server(options wanted) : options_(std::move(wanted)) {
    const bool fresh = options_.data.empty();
    fs::copy(fresh ? fresh_data_of_mariadb() : options_.data, data(), fs::copy_options::recursive);
    std::ofstream first{directory_.path() / "first.sql"};
    if (fresh)
        first << "CREATE USER IF NOT EXISTS holdfast@'%';\nGRANT ALL ON *.* TO holdfast@'%' WITH GRANT "
                 "OPTION;\n"
                 "CREATE DATABASE IF NOT EXISTS locks;\n";
    first.close();
    start();
}

mariadb_server::~mariadb_server() {
    if (!process_ || !process_->running()) return;
    process_->resume();
    process_->kill();
}

std::string mariadb_server::socket() const { return (directory_.path() / "socket").string(); }

std::string mariadb_server::url(const std::string& database, const std::string& user) const {
    return "mysql://" + user + "@127.0.0.1:" + std::to_string(port()) + '/' + database + "?create=true";
}

std::string mariadb_server::log() const {
    std::ifstream file{directory_.path() / "log"};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

void mariadb_server::start() {
    const auto in = [this](const char* name) { return (directory_.path() / name).string(); };
    std::vector<std::string> command{"mariadbd",
                                     "--no-defaults",
                                     "--datadir=" + data().string(),
                                     "--socket=" + socket(),
                                     "--bind-address=127.0.0.1",
                                     "--port=" + std::to_string(port()),
                                     "--log-error=" + in("log"),
                                     "--pid-file=" + in("pid"),
                                     "--init-file=" + in("first.sql"),
                                     own_temporary_files_in(directory_),
                                     "--skip-name-resolve",
                                     "--innodb-buffer-pool-size=16M",
                                     "--innodb-log-file-size=4M",
                                     "--innodb-use-native-aio=0",
                                     "--performance-schema=OFF"};
    if (::geteuid() == 0) command.emplace_back("--user=root");
    command.emplace_back(options_.sync ? "--innodb-flush-log-at-trx-commit=1"
                                       : "--innodb-flush-log-at-trx-commit=2");
    for (const auto& one : options_.settings) command.push_back("--" + one);
    process_.emplace(command, options_.environment);
    std::string why;
    const bool up = eventually(patience, [&] {
        if (!process_->running()) return true;
        try {
            (void)run("SELECT 1");
            return true;
        } catch (const std::runtime_error& e) {
            why = e.what();
            return false;
        }
    });
    if (!up || !process_->running())
        throw std::runtime_error{"MariaDB does not start: " + why + '\n' + process_->errors() + log()};
}

void mariadb_server::stop() { process_->kill(); }

void mariadb_server::shut_down() {
    process_->signal(SIGTERM);
    if (!process_->wait(patience)) throw std::runtime_error{"MariaDB does not stop"};
}

void mariadb_server::end_sessions() {
    session one{*this};
    for (const auto& row : one.run("SELECT ID FROM information_schema.PROCESSLIST WHERE DB IS NOT NULL"
                                   " AND ID <> CONNECTION_ID()")) {
        try {
            one.run("KILL " + row[0]);
        } catch (const std::runtime_error&) {  // it has ended by itself
        }
    }
}

std::size_t mariadb_server::sessions_of(pid_t pid) {
    return run("SELECT 1 FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO /* holdfast:%:" +
               std::to_string(pid) + ":%'")
        .size();
}

mariadb_server::rows mariadb_server::run(const std::string& sql, const std::string& database) {
    session once{*this, database};
    return once.run(sql);
}

mariadb_server::session::session(const mariadb_server& on, const std::string& database) {
    MYSQL* const one = mysql_init(nullptr);
    constexpr unsigned by_socket = MYSQL_PROTOCOL_SOCKET;
    mysql_options(one, MYSQL_OPT_PROTOCOL, &by_socket);
    connection_ = one;
    if (mysql_real_connect(one, nullptr, "holdfast", nullptr, database.c_str(), 0, on.socket().c_str(),
                           CLIENT_MULTI_STATEMENTS) == nullptr) {
        const std::string why = mysql_error(one);
        mysql_close(one);
        throw std::runtime_error{"no connection to the test's MariaDB: " + why};
    }
}

mariadb_server::session::~session() { mysql_close(static_cast<MYSQL*>(connection_)); }

mariadb_server::rows mariadb_server::session::run(const std::string& sql) {
    return run_on(static_cast<MYSQL*>(connection_), sql);
}

std::unique_ptr<sql_server::session> mariadb_server::connect() { return std::make_unique<session>(*this); }

void mariadb_server::create_user(const std::string& name) {
    std::string quoted;
    for (const char c : name) quoted.append(c == '\'' || c == '\\' ? 2 : 1, c);
    run("CREATE USER '" + quoted + "'@'%'");
}

void mariadb_server::isolate_by_default() {
    run("SET GLOBAL tx_isolation = 'SERIALIZABLE', GLOBAL autocommit = 0");
}

void mariadb_server::refuse_writes() {
    run("SET GLOBAL read_only = ON");
    end_sessions();
}

void mariadb_server::accept_writes() { run("SET GLOBAL read_only = OFF"); }

void mariadb_server::begin(trouble what) {
    const std::string body =
        what == trouble::disk_is_full
            ? "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'"
            : "DO SLEEP(3600)";
    run("CREATE OR REPLACE TRIGGER trouble BEFORE UPDATE ON holdfast_lock FOR EACH ROW " + body);
}

void mariadb_server::end_trouble() { run("DROP TRIGGER trouble"); }

std::string mariadb_server::endanger_locks() {
    run("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    return "innodb_flush_log_at_trx_commit is 0";
}

std::chrono::seconds mariadb_server::clock() {
    return std::chrono::seconds{std::stoll(run("SELECT UNIX_TIMESTAMP()")[0][0])};
}

std::string mariadb_server::url_trusting(const certificate_authority& one) const {
    return url() + "&ssl-ca=" + one.file();
}

std::string mariadb_server::url_trusting_this_machine() const { return url() + "&ssl-mode=VERIFY_IDENTITY"; }

std::string mariadb_server::url_trusting_anybody() const { return url() + "&ssl-mode=REQUIRED"; }

}  // namespace holdfast::test
