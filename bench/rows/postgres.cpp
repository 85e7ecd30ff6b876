// Locks in a PostgreSQL table, against the statements that they need, a row that is polled, and an advisory
// lock before a row.
#ifdef HOLDFAST_HAS_POSTGRES

#include "rows/pairs.hpp"
#include "rows/rows.hpp"
#include "rows/turns.hpp"
#include "support/postgres_server.hpp"

#include <holdfast/holdfast.hpp>

#include <fmt/format.h>
#include <libpq-fe.h>

#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace holdfast::bench {

namespace in_postgres {

namespace {

using test::postgres_server;

constexpr int leases = 1'000;

// What a program without a library does: rows that have an owner until a time.
class by_hand {
  public:
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
               std::to_string(leases - 1) + ") AS g (n)");
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

struct a_server {
    explicit a_server(bool sync) : database({.sync = sync}) { by_hand::make_rows(database); }
    postgres_server database;
};

// Without waiting for a disk, which would hide what the library costs.
struct one_thread : row, a_server {
    one_thread()
        : a_server(false),
          raw(database.url()),
          c({.url = database.url()}),
          native(c, "bench:native"),
          recursive(c, "bench:recursive") {
        sides = {{"2 statements (libpq)",
                  [this](milliseconds span) {
                      return timed(span, [this] {
                          if (!raw.take()) throw std::runtime_error("the row is held");
                          raw.give();
                      });
                  }},
                 subject("mutex", native),
                 subject("recursive_mutex", recursive)};
        targets = {{"mutex", target::kind::ratio_at_most, 1.11}};
    }
    by_hand raw;
    client c;
    mutex native;
    recursive_mutex recursive;
};

enum class waits { by_asking, at_a_gate };

crew_body with_a_row(const std::string& url, waits how) {
    return [url, how](int, shared_page& page, const std::function<void()>& ready) {
        by_hand row{url};
        tally t;
        ready();
        while (!page.over.load(std::memory_order_relaxed)) {
            if (how == waits::at_a_gate) row.enter_gate();
            // Asks each millisecond, as users of a row do, or faster than most.
            for (++t.attempts; !row.take(); ++t.attempts) std::this_thread::sleep_for(1ms);
            page.enter();
            page.leave();
            ++t.acquisitions;
            row.give();
            if (how == waits::at_a_gate) row.leave_gate();
        }
        return t;
    };
}

struct in_turn : row, a_server {
    in_turn() : a_server(true) {
        constexpr int processes = 8;
        const auto side_of = [](const char* name, crew_body body) {
            return side{name, [body = std::move(body)](milliseconds span) {
                            auto s = run_crew(processes, 2 * span, body);
                            // A process that takes the lock again at once has not handed it off.
                            s.value = s.extras.at("changes of owner per second");
                            return s;
                        }};
        };
        const config ours{.url = database.url()};
        const auto no_work = [] {};
        sides = {side_of("an advisory lock, then a row", with_a_row(database.url(), waits::at_a_gate)),
                 side_of("a row, asked each millisecond", with_a_row(database.url(), waits::by_asking)),
                 side_of("mutex", holdfast_process<mutex>(ours, 1, no_work)),
                 side_of("fair_mutex", holdfast_process<fair_mutex>(ours, 1, no_work))};
        targets = {{"mutex", target::kind::ratio_at_least, 1},
                   {"mutex", target::kind::extra_at_least, 0.9, "least / most of a process"}};
    }
};

struct many_held : row, a_server {
    many_held() : a_server(true), raw(database.url()), c({.url = database.url()}) {
        on_up = c.on_event([this](const event& e) {
            if (e.kind == event_kind::store_up) up_at = steady::now().time_since_epoch().count();
        });
        for (int i = 0; i < leases; ++i) {
            const auto name = fmt::format("bench:{}", i);
            held.push_back(mutex{c, name}.acquire());
            if (!raw.take(name)) throw std::runtime_error("the row is held");
        }
        sides = {{"a statement for each (libpq)",
                  [this](milliseconds) {
                      const auto from = steady::now();
                      for (int i = 0; i < leases; ++i)
                          if (!raw.renew(fmt::format("bench:{}", i)))
                              throw std::runtime_error("a row is not held");
                      return in_ms(steady::now() - from);
                  }},
                 {"1,000 mutexes renewed", [this](milliseconds) { return renewed(); }}};
        targets = {{"1,000 mutexes renewed", target::kind::ratio_at_most, 0.1}};
    }

    static sample in_ms(steady::duration took) {
        return {std::chrono::duration<double, std::milli>(took).count(), {}};
    }
    // All renewals are due at once when the connection is back; the time counts from then.
    sample renewed() {
        const auto enough = c.stats().renewals + leases;
        database.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name LIKE 'holdfast:%'");
        const auto late = steady::now() + 20s;
        while (c.stats().renewals < enough) {
            if (steady::now() > late) throw std::runtime_error("the locks were not renewed");
            std::this_thread::sleep_for(100us);
        }
        const auto end = steady::now();
        if (c.stats().lost != 0) throw std::runtime_error("a lock was lost");
        return in_ms(end - steady::time_point{steady::duration{up_at.load()}});
    }

    by_hand raw;
    client c;
    std::vector<lease> held;
    std::atomic<steady::rep> up_at{0};
    event_subscription on_up;
};

}  // namespace

}  // namespace in_postgres

std::unique_ptr<row> postgres_uncontended(redis_server&) {
    return std::make_unique<in_postgres::one_thread>();
}
std::unique_ptr<row> postgres_turns(redis_server&) { return std::make_unique<in_postgres::in_turn>(); }
std::unique_ptr<row> postgres_renewals(redis_server&) { return std::make_unique<in_postgres::many_held>(); }

}  // namespace holdfast::bench

#endif
