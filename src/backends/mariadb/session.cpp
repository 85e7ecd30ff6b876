#include "backends/mariadb/session.hpp"

#include "backends/mariadb/errors.hpp"
#include "backends/mariadb/schema.hpp"
#include "backends/sql/unfinished_socket.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::mariadb_backend {

namespace {

using sql_backend::failure;
using sql_backend::number;
using sql_backend::row;
using sql_backend::rows;
using sql_backend::session_error;
using sql_backend::time_point;

[[noreturn]] void fail(errc code, std::string text) {
    throw session_error({make_error_code(code), std::move(text), {}});
}

// "1.500", whatever the decimal point of the program's locale is.
std::string in_seconds(std::chrono::milliseconds span) {
    const auto thousandths = std::to_string(1000 + span.count() % 1000);
    return std::to_string(span.count() / 1000) + '.' + thousandths.substr(1);
}

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

// With one server of the URL.
class steps {
  public:
    steps(const session_options& how, const url::server& at, const base::wake_fd& stop)
        : how_(how), at_(at), stop_(stop), until_(boot_clock::now() + how.answer_timeout) {}

    made_session make() {
        connect();
        learn();
        settle();
        if (how_.presence)
            become_present();
        else
            find_table();
        made_.watched = base::owned_fd{::fcntl(my().mysql_get_socket(db()), F_DUPFD_CLOEXEC, 0)};
        if (!made_.watched) fail(errc::unavailable, "there is no descriptor left for a connection");
        return std::move(made_);
    }

  private:
    [[nodiscard]] MYSQL* db() const noexcept { return made_.session.get(); }

    // --- connecting -------------------------------------------------------------------------------

    void set(mysql_option what, const void* value) { (void)my().mysql_options(db(), what, value); }
    void set(mysql_option what, const std::string& value) {
        if (!value.empty()) set(what, value.c_str());
    }

    void connect() {
        const auto& to = how_.to;
        made_.session.reset(my().mysql_init(nullptr));
        if (!made_.session) fail(errc::unavailable, "there is no memory for a connection");
        const my_bool no = 0;
        const my_bool yes = 1;
        const unsigned none = 0;
        set(MYSQL_OPT_NONBLOCK, nullptr);
        set(MYSQL_OPT_RECONNECT, &no);
        set(MYSQL_OPT_LOCAL_INFILE, &none);  // a server may ask for any file
        set(MYSQL_SET_CHARSET_NAME, "utf8mb4");
        (void)my().mysql_options4(db(), MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "holdfast");
        if (!to.defaults_file.empty()) {
            set(MYSQL_READ_DEFAULT_FILE, to.defaults_file);
            set(MYSQL_READ_DEFAULT_GROUP, "holdfast");
        }
        set(MYSQL_OPT_SSL_CA, to.ca);
        set(MYSQL_OPT_SSL_CAPATH, to.ca_path);
        set(MYSQL_OPT_SSL_CERT, to.certificate);
        set(MYSQL_OPT_SSL_KEY, to.key);
        if (to.encryption != tls::off) {
            set(MYSQL_OPT_SSL_ENFORCE, &yes);
            set(MYSQL_OPT_SSL_VERIFY_SERVER_CERT, to.encryption == tls::verified ? &yes : &no);
        }
        // As other clients do, "localhost" is the socket, unless there is a port.
        const bool by_socket =
            !to.socket.empty() || at_.host.empty() || (at_.host == "localhost" && at_.port == 0);
        const unsigned protocol = by_socket ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
        if (!by_socket || to.defaults_file.empty()) set(MYSQL_OPT_PROTOCOL, &protocol);
        const auto* password =
            to.password
                ? to.password->c_str()
                : std::getenv("MYSQL_PWD");  // NOLINT(concurrency-mt-unsafe): as libmariadb reads its own
        constexpr unsigned long flags = CLIENT_FOUND_ROWS | CLIENT_MULTI_STATEMENTS;
        MYSQL* connected = nullptr;
        go(
            [&] {
                return my().mysql_real_connect_start(&connected, db(), by_socket ? nullptr : at_.host.c_str(),
                                                     or_null(to.user), password, or_null(to.database),
                                                     at_.port, or_null(to.socket), flags);
            },
            [&](int ready) { return my().mysql_real_connect_cont(&connected, db(), ready); });
        if (connected == nullptr) fail_to_connect();
        // With TLS, libmariadb leaves the socket blocking, although it was told not to wait.
        const int fd = my().mysql_get_socket(db());
        (void)::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
        made_.in_tls = my().mysql_get_ssl_cipher(db()) != nullptr;
        made_.server.address = by_socket
                                   ? (to.socket.empty() ? std::string{"localhost"} : to.socket)
                                   : at_.host + ':' + std::to_string(at_.port == 0 ? MYSQL_PORT : at_.port);
    }
    [[noreturn]] void fail_to_connect() const {
        const auto code = my().mysql_errno(db());
        auto why = fault_of(code, my().mysql_error(db()), false).why;
        if (code >= 2000 && code < 3000)
            why.text = "cannot connect to " + how_.to.where + ": " + base::printable(my().mysql_error(db()));
        else
            why.text += " (" + how_.to.where + ')';
        throw session_error(std::move(why));
    }

    // --- waiting ------------------------------------------------------------------------------------

    template <class Start, class Continue>
    void go(Start start, Continue go_on) {
        int waits = start();
        while (waits != 0) waits = go_on(wait_for(waits));
    }
    [[nodiscard]] int wait_for(int what) {
        socket_.is(my().mysql_get_socket(db()));
        pollfd fds[2] = {{my().mysql_get_socket(db()), 0, 0}, {stop_.get(), POLLIN, 0}};
        if ((what & MYSQL_WAIT_READ) != 0) fds[0].events |= POLLIN;
        if ((what & MYSQL_WAIT_WRITE) != 0) fds[0].events |= POLLOUT;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - boot_clock::now());
        if (left.count() <= 0)
            fail(errc::unavailable, "no answer from " + how_.to.where + " while connecting");
        if (::poll(fds, 2, static_cast<int>(left.count())) <= 0) return what & ~MYSQL_WAIT_TIMEOUT;
        if (fds[1].revents != 0) fail(errc::closed, "the client is being destroyed");
        int ready = 0;
        if ((fds[0].revents & POLLOUT) != 0) ready |= MYSQL_WAIT_WRITE;
        if ((fds[0].revents & ~POLLOUT) != 0) ready |= MYSQL_WAIT_READ;
        return ready;
    }

    // --- statements ---------------------------------------------------------------------------------

    [[nodiscard]] unsigned try_run(const std::string& sql, rows& found) {
        int failed = 0;
        until_ = boot_clock::now() + how_.answer_timeout;
        go([&] { return my().mysql_real_query_start(&failed, db(), sql.data(), sql.size()); },
           [&](int ready) { return my().mysql_real_query_cont(&failed, db(), ready); });
        while (failed == 0) {
            MYSQL_RES* result = nullptr;
            go([&] { return my().mysql_store_result_start(&result, db()); },
               [&](int ready) { return my().mysql_store_result_cont(&result, db(), ready); });
            if (result != nullptr) {
                found = rows_of(result);
                my().mysql_free_result(result);
            }
            if (my().mysql_errno(db()) != 0 || my().mysql_more_results(db()) == 0) break;
            go([&] { return my().mysql_next_result_start(&failed, db()); },
               [&](int ready) { return my().mysql_next_result_cont(&failed, db(), ready); });
        }
        return my().mysql_errno(db());
    }
    [[noreturn]] void fail_by(unsigned code) const {
        throw session_error(fault_of(code, my().mysql_error(db()), false).why);
    }
    rows run(const std::string& sql) {
        rows found;
        if (const auto code = try_run(sql, found); code != 0) fail_by(code);
        return found;
    }

    // Variables that not every server has are left out.
    void learn() {
        for (const auto& r : run("SHOW VARIABLES WHERE Variable_name IN"
                                 " ('server_uid', 'server_uuid', 'read_only', 'wsrep_on')"))
            if (r.size() == 2 && r[0] && r[1]) facts_[*r[0]] = *r[1];
        if (facts_["read_only"] != "OFF") throw session_error(fault_of(1290, "read_only is on", false).why);
        // Both numbers are of the same moment, so that their difference stays the same as long as the server
        // runs.
        const auto r =
            run("SELECT UNIX_TIMESTAMP() - VARIABLE_VALUE, VARIABLE_VALUE, CONNECTION_ID()"
                " FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'UPTIME'");
        if (r.size() != 1 || r[0].size() != 3) fail(errc::bad_reply, "this is no MariaDB server");
        made_.server.run_id = facts_["server_uid"] + facts_["server_uuid"] + '@' + r[0][0].value_or("");
        made_.server.uptime = std::chrono::seconds{number(r[0][1])};
        made_.server.session = number(r[0][2]);
    }

    // A statement that waits for a foreign transaction, or for an operator's LOCK TABLES, ends before the
    // client gives up the session. Each statement sees what was committed before it. A TIMESTAMP of ShedLock
    // means what it means in Java's sessions, which have the time zone of the server.
    [[nodiscard]] std::string settings_of() {
        const auto timeout = in_seconds(how_.answer_timeout * 3 / 4);
        std::string all =
            "SET SESSION autocommit = 1, sql_mode = 'STRICT_ALL_TABLES',"
            " innodb_lock_wait_timeout = 1, max_statement_time = " +
            (how_.presence ? std::string{"0"} : timeout) + ", wait_timeout = " +
            std::to_string(how_.presence ? how_.silence.count()
                                         : std::chrono::seconds{std::chrono::hours{24}}.count()) +
            "; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
        if (how_.to.table == sql_backend::layout::holdfast) all += "; SET SESSION time_zone = '+00:00'";
        // The nodes of a cluster: a statement that is carried out again has shown its rows before; a node may
        // lag behind the others; and user locks are known to one node only.
        if (facts_["wsrep_on"] == "ON")
            all += "; SET SESSION wsrep_retry_autocommit = 0, wsrep_sync_wait = 1; SET @holdfast_cluster = 1";
        else
            all += "; SET @holdfast_cluster = 0";
        return all;
    }
    void settle() { (void)run(settings_of()); }

    void become_present() {
        const auto r = run("SELECT GET_LOCK('" + presence_of(*how_.presence) + "', 1)");
        // The session before this one may not have ended yet.
        if (r.size() != 1 || r[0].size() != 1 || number(r[0][0]) != 1)
            fail(errc::unavailable, "an earlier session of this client has not ended yet");
    }

    void find_table() {
        rows none;
        const auto& wanted = table_of_locks(how_.to.table);
        const auto look = [&] {
            return try_run(std::string{"SELECT "} + wanted.columns + " FROM " + wanted.name + " LIMIT 0",
                           none);
        };
        auto code = look();
        if (code == no_such_table && how_.to.create) {
            if (const auto refused = try_run(wanted.sql, none); refused != 0) {
                auto why = fault_of(refused, my().mysql_error(db()), false).why;
                why.text =
                    "the table of locks cannot be made: this user needs the right to create tables in the "
                    "database, or somebody else makes it (holdfast doctor --sql)";
                throw session_error(std::move(why));
            }
            code = look();
        }
        if (code != 0) fail_by(code);
        if (how_.to.table == sql_backend::layout::shedlock) check_precision();
    }
    // A column of whole seconds would end a lease up to a second before its holder knows.
    void check_precision() {
        const auto r =
            run("SELECT DATETIME_PRECISION FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()"
                " AND TABLE_NAME = 'shedlock' AND COLUMN_NAME = 'lock_until'");
        if (r.size() != 1 || r[0].size() != 1 || number(r[0][0]) < 3)
            fail(errc::invalid_argument,
                 "the column lock_until of the table shedlock has no milliseconds, as DATETIME(3) or "
                 "TIMESTAMP(3) has");
    }

    const session_options& how_;
    const url::server& at_;
    const base::wake_fd& stop_;
    sql_backend::unfinished_socket socket_;
    time_point until_;
    std::map<std::string, std::string> facts_;
    made_session made_;
};

}  // namespace

no_broken_pipes::no_broken_pipes(bool in_tls) noexcept : needed_(in_tls) {
    if (!needed_) return;
    sigset_t pipe;
    sigset_t before;
    sigset_t pending;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    (void)::pthread_sigmask(SIG_BLOCK, &pipe, &before);
    was_blocked_ = ::sigismember(&before, SIGPIPE) == 1;
    was_pending_ = was_blocked_ && ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGPIPE) == 1;
}

no_broken_pipes::~no_broken_pipes() {
    if (!needed_ || (was_blocked_ && was_pending_)) return;
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    const timespec at_once{};
    (void)::sigtimedwait(&pipe, nullptr, &at_once);
    if (!was_blocked_) (void)::pthread_sigmask(SIG_UNBLOCK, &pipe, nullptr);
}

void close_session::operator()(MYSQL* c) const noexcept {
    const no_broken_pipes guard;
    my().mysql_close(c);
}

rows rows_of(MYSQL_RES* result) {
    rows all;
    const auto width = my().mysql_num_fields(result);
    while (const MYSQL_ROW line = my().mysql_fetch_row(result)) {
        const auto* const sizes = my().mysql_fetch_lengths(result);
        row& one = all.emplace_back();
        one.reserve(width);
        for (unsigned i = 0; i < width; ++i) {
            if (line[i] == nullptr)
                one.emplace_back(std::nullopt);
            else
                one.emplace_back(std::string(line[i], sizes[i]));
        }
    }
    return all;
}

made_session make_session(const session_options& how, const base::wake_fd& stop) {
    const no_broken_pipes guard;
    // Of several servers, the first that takes writes.
    std::optional<failure> why;
    for (const auto& at : how.to.servers) {
        try {
            return steps(how, at, stop).make();
        } catch (const session_error& e) {
            if (e.why().code == errc::closed || sql_backend::needs_operator(e.why().code)) throw;
            why = e.why();
        }
    }
    throw session_error(*std::move(why));
}

}  // namespace holdfast::mariadb_backend
