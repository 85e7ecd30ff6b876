#include "backends/postgres/session.hpp"

#include "backends/postgres/errors.hpp"
#include "backends/postgres/libpq.hpp"
#include "backends/postgres/schema.hpp"
#include "backends/sql/unfinished_socket.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace holdfast::postgres_backend {

namespace {

using sql_backend::cell;
using sql_backend::number;
using sql_backend::row;
using sql_backend::rows;
using sql_backend::session_error;
using sql_backend::time_point;

// The object identifiers of types whose binary form is a big-endian number.
constexpr Oid type_bool = 16;
constexpr Oid type_int8 = 20;
constexpr Oid type_int4 = 23;
constexpr Oid type_array_of_int8 = 1016;

std::int64_t big_endian(std::string_view bytes) {
    std::uint64_t n = 0;
    for (const char c : bytes) n = n << 8U | static_cast<unsigned char>(c);
    if (bytes.size() == 4) return static_cast<std::int32_t>(n);
    return static_cast<std::int64_t>(n);
}

// Dimensions, flags, type, then for each dimension its size and its lower bound, then size and value of each.
std::string text_of_array(std::string_view bytes) {
    std::string list = "{";
    constexpr std::size_t header = 20;
    for (std::size_t at = header; at + 12 <= bytes.size(); at += 12)
        list.append(list.size() > 1 ? "," : "").append(std::to_string(big_endian(bytes.substr(at + 4, 8))));
    return list + '}';
}

cell value_of(const PGresult* r, int line, int column) {
    if (pq().PQgetisnull(r, line, column) != 0) return std::nullopt;
    const std::string_view bytes{pq().PQgetvalue(r, line, column),
                                 static_cast<std::size_t>(pq().PQgetlength(r, line, column))};
    if (pq().PQfformat(r, column) == 0) return std::string{bytes};
    switch (pq().PQftype(r, column)) {
        case type_int8:
        case type_int4:
        case type_bool: return std::to_string(big_endian(bytes));
        case type_array_of_int8: return text_of_array(bytes);
        default: return std::string{bytes};
    }
}

std::string trimmed(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return base::printable(text);
}

// A refusal at connect has no SQLSTATE of its own, but a verbose message begins with it: "FATAL:  28P01:
// ...".
std::string sqlstate_in(std::string_view text) {
    constexpr std::size_t size = 5;
    for (const std::string_view severity : {"FATAL:  ", "ERROR:  "}) {
        const auto at = text.rfind(severity);
        if (at == std::string_view::npos) continue;
        const auto code = text.substr(at + severity.size(), size);
        if (code.size() == size && text.substr(at + severity.size() + size).starts_with(':'))
            return std::string{code};
    }
    return {};
}

class steps {
  public:
    steps(const session_options& how, const base::wake_fd& stop) : how_(how), stop_(stop) {}

    made_session make() {
        connect();
        learn();
        if (made_.server.pooled && !how_.listens_at.empty())
            fail(errc::no_permission,
                 "a pooler such as pgbouncer stands between, and messages need a session of their own");
        if (made_.server.pooled && how_.to.longest_lease)
            fail(errc::invalid_argument,
                 "restarts=quarantined does not work behind a pooler such as pgbouncer, whose connections "
                 "outlive a crash of the server; the URL must name the server itself");
        if (how_.listens_at.empty()) {
            if (how_.to.create) create();
            if (how_.to.table == sql_backend::layout::holdfast) find_run();
        }
        if (pq().PQsetnonblocking(pg(), 1) != 0 || pq().PQenterPipelineMode(pg()) == 0) fail_broken();
        if (!made_.server.pooled) settle();
        if (!how_.listens_at.empty()) {
            send("SELECT pg_advisory_lock(" + std::to_string(how_.listener) + ")");
            send("LISTEN \"" + how_.listens_at + '"');
        } else if (made_.server.pooled) {
            send(std::string{"SELECT "} + locks_.columns + " FROM " + locks_.name + " LIMIT 0");
        } else {
            for (const auto* const s : how_.statements) prepare(*s);
        }
        await_all();
        made_.watched = base::owned_fd{::fcntl(pq().PQsocket(pg()), F_DUPFD_CLOEXEC, 0)};
        if (!made_.watched) fail(errc::unavailable, "there is no descriptor left for a connection");
        return std::move(made_);
    }

  private:
    [[nodiscard]] PGconn* pg() const noexcept { return made_.session.get(); }

    [[noreturn]] static void fail(errc code, std::string text, std::string server_text = {}) {
        throw session_error({make_error_code(code), std::move(text), std::move(server_text)});
    }
    [[noreturn]] void fail_broken() const {
        fail(errc::unavailable,
             "the connection to " + how_.to.where + " broke: " + trimmed(pq().PQerrorMessage(pg())));
    }

    void connect() {
        std::vector<const char*> names;
        std::vector<const char*> values;
        const auto add = [&](const char* name, const char* value) {
            names.push_back(name);
            values.push_back(value);
        };
        const auto timeout = std::to_string(how_.answer_timeout.count());
        // What the user says about these comes later, and counts.
        add("tcp_user_timeout", timeout.c_str());
        // As settle() sets them for the server: when the server has given up a session that listens, the
        // client must not take it for open.
        add("keepalives_idle", "10");
        add("keepalives_interval", "5");
        add("keepalives_count", "3");
        for (const auto& [name, value] : how_.to.parameters) add(name.c_str(), value.c_str());
        add("application_name", how_.label.c_str());
        add("client_encoding", "UTF8");
        add(nullptr, nullptr);
        made_.session.reset(pq().PQconnectStartParams(names.data(), values.data(), 0));
        if (!made_.session) fail(errc::unavailable, "there is no memory for a connection");
        pq().PQsetErrorVerbosity(pg(), PQERRORS_VERBOSE);
        pq().PQsetNoticeProcessor(
            pg(), [](void*, const char*) {}, nullptr);
        const auto until = boot_clock::now() + how_.answer_timeout;
        auto next = PGRES_POLLING_WRITING;
        while (pq().PQstatus(pg()) != CONNECTION_BAD && next != PGRES_POLLING_OK) {
            wait_for(next == PGRES_POLLING_READING ? POLLIN : POLLOUT, until);
            next = pq().PQconnectPoll(pg());
            if (next == PGRES_POLLING_FAILED) break;
        }
        if (pq().PQstatus(pg()) != CONNECTION_OK) fail_to_connect();
        const char* const host = pq().PQhost(pg());
        made_.server.address = host != nullptr && *host == '/'
                                   ? std::string{host}
                                   : std::string{host == nullptr ? "" : host} + ':' + pq().PQport(pg());
    }
    [[noreturn]] void fail_to_connect() const {
        const std::string text = pq().PQerrorMessage(pg());
        if (const auto state = sqlstate_in(text); !state.empty()) {
            auto why = fault_of(state, text, false).why;
            why.text += " (" + how_.to.where + ')';
            throw session_error(std::move(why));
        }
        if (pq().PQconnectionNeedsPassword(pg()) != 0)
            fail(errc::no_permission,
                 how_.to.where + " wants a password: in the URL, in PGPASSWORD or in .pgpass");
        fail(errc::unavailable, "cannot connect to " + how_.to.where + ": " + trimmed(text));
    }

    void wait_for(short events, time_point until) {
        socket_.is(pq().PQsocket(pg()));
        pollfd fds[2] = {{pq().PQsocket(pg()), events, 0}, {stop_.get(), POLLIN, 0}};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - boot_clock::now());
        if (fds[0].fd < 0) fail_broken();
        const int n = left.count() <= 0 ? 0 : ::poll(fds, 2, static_cast<int>(left.count()));
        if (n > 0 && fds[1].revents != 0) fail(errc::closed, "the client is being destroyed");
        if (left.count() <= 0)
            fail(errc::unavailable, "no answer from " + how_.to.where + " while connecting");
    }

    pg_result finish() {
        const auto until = boot_clock::now() + how_.answer_timeout;
        pg_result last;
        for (;;) {
            while (pq().PQisBusy(pg()) != 0) {
                wait_for(POLLIN, until);
                if (pq().PQconsumeInput(pg()) == 0) fail_broken();
            }
            pg_result next{pq().PQgetResult(pg())};
            if (!next) return last;
            if (last && pq().PQresultStatus(last.get()) == PGRES_FATAL_ERROR)
                continue;  // the first error counts
            last = std::move(next);
        }
    }
    pg_result checked(pg_result r) {
        if (!r) fail_broken();
        if (const auto status = pq().PQresultStatus(r.get());
            status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
            throw session_error(fault_in(r.get(), false).why);
        return r;
    }
    pg_result run(const std::string& sql) {
        if (pq().PQsendQuery(pg(), sql.c_str()) == 0) fail_broken();
        return checked(finish());
    }

    // In pipeline mode all that follows goes in one message.
    void prepare(const sql_backend::prepared& s) {
        if (pq().PQsendPrepare(pg(), s.name, s.sql, 0, nullptr) == 0) fail_broken();
    }
    void send(const std::string& sql) {
        if (pq().PQsendQueryParams(pg(), sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 1) == 0)
            fail_broken();
    }
    void await_all() {
        const auto until = boot_clock::now() + how_.answer_timeout;
        if (pq().PQpipelineSync(pg()) == 0) fail_broken();
        for (;;) {
            while (pq().PQflush(pg()) == 1 || pq().PQisBusy(pg()) != 0) {
                wait_for(pq().PQflush(pg()) == 1 ? POLLIN | POLLOUT : POLLIN, until);
                if (pq().PQconsumeInput(pg()) == 0) fail_broken();
            }
            const pg_result r{pq().PQgetResult(pg())};
            if (!r) {  // each statement ends with one
                if (pq().PQstatus(pg()) == CONNECTION_BAD) fail_broken();
                continue;
            }
            const auto status = pq().PQresultStatus(r.get());
            if (status == PGRES_PIPELINE_SYNC) return;
            if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
                throw session_error(fault_in(r.get(), false).why);
        }
    }

    void learn() {
        const auto r =
            rows_of(run("SELECT pg_backend_pid()::bigint,"
                        " extract(epoch FROM pg_postmaster_start_time())::text,"
                        " floor(extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()))::bigint,"
                        " current_setting('transaction_read_only')")
                        .get());
        if (r.size() != 1 || r[0].size() != 4) fail(errc::bad_reply, "this is no PostgreSQL server");
        made_.server.session = number(r[0][0]);
        made_.server.run_id = r[0][1].value_or("");
        made_.server.uptime = std::chrono::seconds{number(r[0][2])};
        made_.server.pooled = made_.server.session != pq().PQbackendPID(pg());
        if (r[0][3] == "on")
            throw session_error(fault_of("25006", "transactions are read-only in this session", false).why);
    }

    // A statement that waits for a foreign transaction ends before the client gives up the session. The locks
    // need a commit that is on the disk, and each statement to see what was committed before it. The server
    // notices within half a minute that a client's machine is gone: until then its waiters seem to be there.
    void settle() {
        const auto timeout = how_.answer_timeout.count();
        const auto set = [](const char* name, const std::string& value) {
            return std::string{"set_config('"} + name + "', " + value + ", false)";
        };
        const auto quoted = [](std::int64_t n) { return '\'' + std::to_string(n) + '\''; };
        send("SELECT " + set("lock_timeout", quoted(std::min<std::int64_t>(timeout / 2, 500))) + ", " +
             set("statement_timeout", quoted(timeout * 3 / 4)) + ", " +
             set("default_transaction_isolation", "'read committed'") + ", " +
             set("tcp_keepalives_idle", "'10'") + ", " + set("tcp_keepalives_interval", "'5'") + ", " +
             set("tcp_keepalives_count", "'3'") + ", " +
             set("synchronous_commit",
                 "CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'"
                 " ELSE current_setting('synchronous_commit') END"));
    }

    // The mark is needed only by some: see find_run().
    void create() {
        make(locks_, true);
        if (how_.to.table == sql_backend::layout::holdfast)
            make(table_of_runs(), how_.to.longest_lease.has_value());
    }
    // Two clients at once may both find no table; the slower one finds it in place.
    void make(const table& one, bool needed) {
        const auto there = rows_of(run(std::string{"SELECT to_regclass('"} + one.name + "') IS NULL").get());
        if (there.size() != 1 || there[0].size() != 1 || there[0][0] != "t") return;
        if (pq().PQsendQuery(pg(), one.sql) == 0) fail_broken();
        const auto r = finish();
        if (!r) fail_broken();
        if (pq().PQresultStatus(r.get()) != PGRES_FATAL_ERROR) return;
        const char* const state = pq().PQresultErrorField(r.get(), PG_DIAG_SQLSTATE);
        const std::string_view code = state == nullptr ? "" : state;
        if (!needed || code == "23505" || code == "42P07" || code == "42710") return;
        auto why = fault_in(r.get(), false).why;
        why.text = std::string{"the table "} + one.name +
                   " cannot be made: this user needs the right to create tables in the schema, or somebody "
                   "else makes "
                   "it (holdfast doctor --sql)";
        throw session_error(std::move(why));
    }

    // The mark of the server's run is in a table that PostgreSQL empties when a crash or a promotion may have
    // cost commits. The first client afterwards makes a new one.
    void find_run() {
        const auto may = rows_of(run("SELECT CASE WHEN to_regclass('holdfast_run') IS NULL THEN 0"
                                     " WHEN has_table_privilege('holdfast_run', 'SELECT')"
                                     " AND has_table_privilege('holdfast_run', 'INSERT') THEN 2 ELSE 1 END")
                                     .get());
        const auto has = may.empty() || may[0].empty() ? 0 : number(may[0][0]);
        if (has == 0 && how_.to.longest_lease)
            fail(errc::invalid_argument,
                 "restarts=quarantined needs the table holdfast_run, which does not exist; ?create=true in "
                 "the "
                 "URL makes it, if this user may");
        if (has == 1 && how_.to.longest_lease)
            fail(errc::no_permission,
                 "restarts=quarantined needs the rights SELECT and INSERT on the table holdfast_run");
        if (has != 2) return;
        const auto find = [this] {
            return rows_of(run("SELECT run, greatest(0, floor(extract(epoch FROM clock_timestamp() - "
                               "since)))::bigint FROM holdfast_run")
                               .get());
        };
        auto found = find();
        if (found.empty()) {
            (void)run("INSERT INTO holdfast_run (run, since) VALUES ('" + base::client_id::make().hex() +
                      "', clock_timestamp()) ON CONFLICT DO NOTHING");
            found = find();
        }
        if (found.size() != 1 || found[0].size() != 2 || !found[0][0])
            fail(errc::bad_reply, "the table holdfast_run has no row");
        made_.server.run_id = *found[0][0];
        made_.server.uptime = std::chrono::seconds{number(found[0][1])};
    }

    const session_options& how_;
    const table& locks_ = table_of_locks(how_.to.table);
    const base::wake_fd& stop_;
    sql_backend::unfinished_socket socket_;
    made_session made_;
};

}  // namespace

rows rows_of(const PGresult* result) {
    rows all;
    const int lines = pq().PQntuples(result);
    const int width = pq().PQnfields(result);
    all.reserve(static_cast<std::size_t>(lines));
    for (int i = 0; i < lines; ++i) {
        row& one = all.emplace_back();
        one.reserve(static_cast<std::size_t>(width));
        for (int c = 0; c < width; ++c) one.push_back(value_of(result, i, c));
    }
    return all;
}

sql_backend::fault fault_in(const PGresult* result, bool changes) {
    const char* const state = pq().PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* const text = pq().PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    auto found = fault_of(state == nullptr ? "" : state,
                          text == nullptr ? pq().PQresultErrorMessage(result) : text, changes);
    // The server stops when it cannot write its log. By then the commit may be on the disk.
    const char* const severity = pq().PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (changes && severity != nullptr && severity == std::string_view{"PANIC"})
        found.what = sql_backend::fault::effect::unknown;
    return found;
}

made_session make_session(const session_options& how, const base::wake_fd& stop) {
    return steps(how, stop).make();
}

}  // namespace holdfast::postgres_backend
