#include "support/postgres_server.hpp"

#include "support/eventually.hpp"
#include "support/send_signal.hpp"

#include <libpq-fe.h>

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace holdfast::test {

namespace {

namespace fs = std::filesystem;
using command_line = std::vector<std::string>;

// Debian keeps the programs of each version in a folder of their own, which is not in PATH.
fs::path programs() {
    static const fs::path found = [] {
        std::vector<fs::path> all;
        std::error_code none;
        for (const auto& version : fs::directory_iterator{"/usr/lib/postgresql", none})
            if (fs::exists(version.path() / "bin" / "initdb")) all.push_back(version.path() / "bin");
        return all.empty() ? fs::path{} : *std::max_element(all.begin(), all.end());
    }();
    return found;
}

std::string program(const char* name) { return (programs() / name).string(); }

void give_away(const fs::path& path) {
    if (::geteuid() != 0) return;
    const auto* const nobody = ::getpwnam("nobody");
    if (nobody == nullptr || ::chown(path.c_str(), nobody->pw_uid, nobody->pw_gid) != 0)
        throw std::runtime_error{"cannot give " + path.string() + " to nobody"};
}

void run_to_end(const command_line& command) {
    child_process one{command};
    if (const auto code = one.wait(patience); code != 0)
        throw std::runtime_error{command.back() + ": " + one.errors() + one.output()};
}

// Made once, because that takes most of a second; each server has a copy.
const fs::path& fresh_data() {
    static const temp_dir folder;
    static const fs::path made = [] {
        give_away(folder.path());
        const auto to = folder.path() / "data";
        run_to_end(postgres_server::as_its_user({program("initdb"), "-D", to.string(), "-U", "holdfast", "-A",
                                                 "trust", "--no-sync", "--locale=C", "-E", "UTF8"}));
        return to;
    }();
    return made;
}

postgres_server::rows run_on(PGconn* on, const std::string& sql) {
    PGresult* const r = PQexec(on, sql.c_str());
    postgres_server::rows all;
    const auto status = PQresultStatus(r);
    for (int i = 0; i < PQntuples(r); ++i) {
        auto& one = all.emplace_back();
        for (int c = 0; c < PQnfields(r); ++c) one.emplace_back(PQgetvalue(r, i, c));
    }
    const std::string why = PQresultErrorMessage(r);
    PQclear(r);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw std::runtime_error{sql + ": " + why};
    return all;
}

// Waits while the server recovers from a crash.
PGconn* connected(const std::string& to) {
    PGconn* one = nullptr;
    std::string why;
    (void)eventually(patience, [&] {
        one = PQconnectdb(to.c_str());
        if (PQstatus(one) == CONNECTION_OK) return true;
        why = PQerrorMessage(one);
        PQfinish(std::exchange(one, nullptr));
        return why.find("the database system is") == std::string::npos &&
               why.find("timeout expired") == std::string::npos;
    });
    if (one != nullptr) return one;
    throw std::runtime_error{"no connection to the test's PostgreSQL: " + why};
}

}  // namespace

postgres_server::postgres_server() : postgres_server(options{}) {}

postgres_server::postgres_server(options wanted) : options_(std::move(wanted)) {
    give_away(directory_.path());
    const auto data = (directory_.path() / "data").string();
    if (const auto* const other = options_.replica_of)
        run_to_end(as_its_user({program("pg_basebackup"), "-h", other->socket_directory(), "-p",
                                std::to_string(other->port()), "-U", "holdfast", "-D", data, "-R",
                                "--no-sync", "--checkpoint=fast"}));
    else
        run_to_end(as_its_user({"cp", "-r", fresh_data().string(), data}));
    start();
}

postgres_server::~postgres_server() {
    if (!process_ || !process_->running()) return;
    for (const auto one : processes()) send_signal(one, SIGCONT);
    // At once, but not by SIGKILL: it frees its shared memory.
    process_->signal(SIGQUIT);
    constexpr std::chrono::seconds usual{10};
    (void)process_->wait(usual);
}

std::string postgres_server::socket_directory() const { return directory_.path().string(); }

std::string postgres_server::url(const std::string& database, const std::string& user) const {
    return "postgres://" + user + "@127.0.0.1:" + std::to_string(port()) + '/' + database + "?create=true";
}

// The log of a server that clients crash for minutes would fill a pipe, and the server would stand still.
std::string postgres_server::log() const {
    std::ostringstream all;
    all << std::ifstream{directory_.path() / "log"}.rdbuf();
    return all.str();
}

void postgres_server::start() {
    command_line command{"sh",
                         "-c",
                         "exec \"$@\" 2> \"$0\"",
                         (directory_.path() / "log").string(),
                         program("postgres"),
                         "-D",
                         (directory_.path() / "data").string(),
                         "-k",
                         socket_directory(),
                         "-p",
                         std::to_string(port())};
    command_line settings{"listen_addresses=127.0.0.1", "shared_buffers=16MB",
                          "dynamic_shared_memory_type=mmap", "log_min_messages=warning", "timezone=UTC"};
    settings.push_back(options_.sync ? "fsync=on" : "fsync=off");
    settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
    for (const auto& s : settings) command.insert(command.end(), {"-c", s});
    // After a crash the processes of the former server may still be there for a moment, and then it ends.
    constexpr int most_starts = 100;
    int starts = 0;
    std::string why;
    process_.reset();
    const bool up = eventually(patience, [&] {
        if (!process_ || !process_->running()) {
            if (process_) why = process_->errors() + log();
            if (starts++ == most_starts) return true;
            process_.emplace(as_its_user(command), options_.environment);
        }
        try {
            (void)run("SELECT 1");
            return true;
        } catch (const std::runtime_error& e) {
            if (process_->running()) why = e.what();
            return false;
        }
    });
    if (!up || !process_->running()) throw std::runtime_error{"PostgreSQL does not start: " + why};
}

std::vector<pid_t> postgres_server::processes() const {
    std::vector<pid_t> all{pid()};
    const auto own = std::to_string(pid());
    std::ifstream children{"/proc/" + own + "/task/" + own + "/children"};
    for (pid_t one = 0; children >> one;) all.push_back(one);
    return all;
}

void postgres_server::stop() {
    // The first is the one that would start the others again.
    for (const auto one : processes()) send_signal(one, SIGKILL);
    process_->kill();
}

void postgres_server::shut_down() {
    process_->signal(SIGINT);
    if (!process_->wait(patience)) throw std::runtime_error{"PostgreSQL does not stop"};
}

void postgres_server::crash_a_session() {
    const auto found =
        run("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'holdfast:%' LIMIT 1");
    if (found.empty()) throw std::runtime_error{"there is no session to crash"};
    send_signal(std::stoi(found[0][0]), SIGKILL);
}

void postgres_server::wait_until_up() {
    const bool up = eventually(patience, [&] {
        try {
            (void)run("SELECT 1");
            return true;
        } catch (const std::runtime_error&) {
            return false;
        }
    });
    if (!up) throw std::runtime_error{"PostgreSQL does not recover: " + log()};
}

void postgres_server::stop_sending() {
    for (const auto& row : run("SELECT pid FROM pg_stat_replication"))
        send_signal(std::stoi(row[0]), SIGSTOP);
}

void postgres_server::promote() { (void)run("SELECT pg_promote()"); }

command_line postgres_server::as_its_user(command_line command) {
    if (::geteuid() != 0) return command;
    const auto* const nobody = ::getpwnam("nobody");
    if (nobody == nullptr) throw std::runtime_error{"there is no user called nobody"};
    // A new user is a new process for the kernel, which then forgets whose end ends it.
    command_line all{"setpriv",
                     "--reuid=" + std::to_string(nobody->pw_uid),
                     "--regid=" + std::to_string(nobody->pw_gid),
                     "--clear-groups",
                     "--pdeathsig",
                     "QUIT"};
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

void postgres_server::give_all(const std::filesystem::path& directory) {
    give_away(directory);
    for (const auto& one : fs::recursive_directory_iterator{directory}) give_away(one.path());
}

void postgres_server::give(const std::filesystem::path& file) {
    give_away(file);
    std::filesystem::permissions(file, std::filesystem::perms::owner_read);
}

void postgres_server::pause() {
    process_->pause();
    for (const auto one : processes()) send_signal(one, SIGSTOP);
}

void postgres_server::resume() {
    for (const auto one : processes()) send_signal(one, SIGCONT);
}

postgres_server::rows postgres_server::run(const std::string& sql, const std::string& database) {
    session once{*this, database};
    return once.run(sql);
}

postgres_server::session::session(const postgres_server& on, const std::string& database)
    : connection_(connected("host=" + on.socket_directory() + " port=" + std::to_string(on.port()) +
                            " user=holdfast connect_timeout=5 dbname=" + database)) {}

postgres_server::session::~session() { PQfinish(static_cast<PGconn*>(connection_)); }

postgres_server::rows postgres_server::session::run(const std::string& sql) {
    return run_on(static_cast<PGconn*>(connection_), sql);
}

std::unique_ptr<sql_server::session> postgres_server::connect() { return std::make_unique<session>(*this); }

void postgres_server::end_sessions() {
    run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'holdfast:%'");
}

std::size_t postgres_server::sessions_of(pid_t pid) {
    return run("SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'holdfast:%:" +
               std::to_string(pid) + ":%'")
        .size();
}

void postgres_server::create_user(const std::string& name) {
    std::string quoted;
    for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
    run("CREATE ROLE \"" + quoted + "\" LOGIN");
}

void postgres_server::isolate_by_default() {
    run("ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'");
}

void postgres_server::refuse_writes() {
    run("ALTER DATABASE postgres SET default_transaction_read_only = on");
    end_sessions();
}

void postgres_server::accept_writes() {
    session writes{*this};
    writes.run("SET default_transaction_read_only = off");
    writes.run("ALTER DATABASE postgres RESET default_transaction_read_only");
}

void postgres_server::begin(trouble what) {
    const std::string body = what == trouble::disk_is_full
                                 ? "RAISE EXCEPTION 'could not extend file: No space left on device'"
                                   " USING ERRCODE = 'disk_full';"
                                 : "PERFORM pg_sleep(3600);";
    run("CREATE OR REPLACE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + body +
        " RETURN NEW; END $$");
    run("CREATE OR REPLACE TRIGGER trouble BEFORE UPDATE ON holdfast_lock FOR EACH ROW EXECUTE"
        " FUNCTION trouble()");
}

void postgres_server::end_trouble() { run("DROP TRIGGER trouble ON holdfast_lock"); }

// It is off from the start: see options::sync.
std::string postgres_server::endanger_locks() { return "fsync is off"; }

std::chrono::seconds postgres_server::clock() {
    return std::chrono::seconds{
        std::stoll(run("SELECT extract(epoch FROM clock_timestamp())::bigint")[0][0])};
}

std::string postgres_server::url_trusting_this_machine() const {
    return "postgres://holdfast@db.example.org:" + std::to_string(port()) +
           "/postgres?hostaddr=127.0.0.1&create=true";
}

std::string postgres_server::url_trusting(const certificate_authority& one) const {
    return url_trusting_this_machine() + "&sslrootcert=" + one.file();
}

std::string postgres_server::url_trusting_anybody() const {
    return url_trusting_this_machine() + "&sslmode=require";
}

}  // namespace holdfast::test
