// Locks in an SQLite file, against the transactions that they need, and against a row that is polled.
#include "rows/pairs.hpp"
#include "rows/rows.hpp"
#include "rows/turns.hpp"
#include "support/eventually.hpp"

#include <holdfast/holdfast.hpp>

#include <sqlite3.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace holdfast::bench {

namespace {

// What a program without a library does: a row that has an owner or none.
class by_hand {
  public:
    explicit by_hand(const std::string& path) {
        sqlite3* opened = nullptr;
        const int code = sqlite3_open(path.c_str(), &opened);
        file_.reset(opened);
        if (code != SQLITE_OK) throw std::runtime_error("SQLite could not open " + path);
        constexpr int long_enough_ms = 10'000;
        sqlite3_busy_timeout(opened, long_enough_ms);
        run("PRAGMA journal_mode = WAL");
        run("PRAGMA synchronous = NORMAL");
        run("CREATE TABLE IF NOT EXISTS locks (name TEXT PRIMARY KEY, owner TEXT) WITHOUT ROWID");
        run("INSERT OR IGNORE INTO locks VALUES ('bench', NULL)");
        for (const char* const sql :
             {"BEGIN IMMEDIATE", "UPDATE locks SET owner = 'me' WHERE name = 'bench' AND owner IS NULL",
              "UPDATE locks SET owner = NULL WHERE name = 'bench'", "COMMIT"})
            prepared_.push_back(prepare(sql));
    }

    [[nodiscard]] bool take() { return change(1); }
    void give() {
        if (!change(2)) throw std::runtime_error("the row was not held");
    }

  private:
    struct close {
        void operator()(sqlite3* f) const { sqlite3_close_v2(f); }
        void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
    };
    using statement = std::unique_ptr<sqlite3_stmt, close>;

    void run(const char* sql) {
        if (sqlite3_exec(file_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
            throw std::runtime_error(sqlite3_errmsg(file_.get()));
    }
    statement prepare(const char* sql) {
        sqlite3_stmt* made = nullptr;
        if (sqlite3_prepare_v2(file_.get(), sql, -1, &made, nullptr) != SQLITE_OK)
            throw std::runtime_error(sqlite3_errmsg(file_.get()));
        return statement{made};
    }
    void step(std::size_t which) {
        const int code = sqlite3_step(prepared_.at(which).get());
        sqlite3_reset(prepared_.at(which).get());
        if (code != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(file_.get()));
    }
    bool change(std::size_t which) {
        step(0);
        step(which);
        const bool changed = sqlite3_changes(file_.get()) == 1;
        step(3);
        return changed;
    }

    std::unique_ptr<sqlite3, close> file_;
    std::vector<statement> prepared_;
};

struct files {
    const test::temp_dir folder;
    const std::string bare = (folder.path() / "bare.db").string();
    const config ours{.url = "sqlite:" + (folder.path() / "locks.db").string()};
};

struct one_thread : row, files {
    one_thread() : raw(bare), c(ours), native(c, "bench:native"), recursive(c, "bench:recursive") {
        sides = {{"2 bare transactions",
                  [this](milliseconds span) {
                      return timed(span, [this] {
                          if (!raw.take()) throw std::runtime_error("the row is held");
                          raw.give();
                      });
                  }},
                 subject("mutex", native),
                 subject("recursive_mutex", recursive)};
        targets = {{"mutex", target::kind::ratio_at_most, 1.30}};
    }
    by_hand raw;
    client c;
    mutex native;
    recursive_mutex recursive;
};

// Asks each millisecond, as users of a row do, or faster than most.
crew_body polled(const std::string& path) {
    return [path](int, shared_page& page, const std::function<void()>& ready) {
        by_hand row{path};
        tally t;
        ready();
        while (!page.over.load(std::memory_order_relaxed)) {
            for (++t.attempts; !row.take(); ++t.attempts) std::this_thread::sleep_for(1ms);
            page.enter();
            page.leave();
            ++t.acquisitions;
            row.give();
        }
        return t;
    };
}

struct in_turn : row, files {
    in_turn() {
        constexpr int processes = 8;
        const auto nothing = [] {};
        sides = {changes_of_owner("a row, asked each millisecond", processes, polled(bare)),
                 changes_of_owner("mutex", processes, holdfast_process<mutex>(ours, 1, nothing)),
                 changes_of_owner("fair_mutex", processes, holdfast_process<fair_mutex>(ours, 1, nothing))};
        targets = {{"mutex", target::kind::ratio_at_least, 1},
                   {"mutex", target::kind::extra_at_least, 0.9, "least / most of a process"}};
    }
};

}  // namespace

std::unique_ptr<row> sqlite_uncontended(redis_server&) { return std::make_unique<one_thread>(); }
std::unique_ptr<row> sqlite_turns(redis_server&) { return std::make_unique<in_turn>(); }

}  // namespace holdfast::bench
