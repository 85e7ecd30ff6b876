// What is measured of locks in a table, whichever the database is.
#pragma once

#include "rows/pairs.hpp"
#include "rows/turns.hpp"
#include "support/child_process.hpp"

#include <holdfast/holdfast.hpp>

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::bench {

inline constexpr int leases_in_a_table = 1'000;

// `Hand` does by itself, with the driver, what a program without a library does: rows that have an owner
// until a time. It has `server`, `driver` and `gate` (for people), make_rows(), end_sessions(), take(),
// give(), renew(), enter_gate() and leave_gate(); perhaps `option`, with which turns are measured once more.
template <class Hand>
struct in_a_table {
    struct a_server {
        explicit a_server(bool sync, const test::child_process::environment& with = {})
            : database({.sync = sync, .environment = with}) {
            Hand::make_rows(database);
        }
        typename Hand::server database;
    };

    // Without waiting for a disk, which would hide what the library costs.
    struct one_thread : row, a_server {
        using a_server::database;

        one_thread()
            : a_server(false),
              raw(database.url()),
              c({.url = database.url()}),
              native(c, "bench:native"),
              recursive(c, "bench:recursive") {
            sides = {{fmt::format("2 statements ({})", Hand::driver),
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
        Hand raw;
        client c;
        mutex native;
        recursive_mutex recursive;
    };

    enum class waits { by_asking, at_a_gate };

    static crew_body with_a_row(const std::string& url, waits how) {
        return [url, how](int, shared_page& page, const std::function<void()>& ready) {
            Hand row{url};
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
        using a_server::database;

        explicit in_turn(const test::child_process::environment& with = {}) : a_server(true, with) {
            constexpr int processes = 8;
            const config ours{.url = database.url()};
            const auto no_work = [] {};
            sides = {
                changes_of_owner(fmt::format("{}, then a row", Hand::gate), processes,
                                 with_a_row(database.url(), waits::at_a_gate)),
                changes_of_owner("a row, asked each millisecond", processes,
                                 with_a_row(database.url(), waits::by_asking)),
                changes_of_owner("mutex", processes, holdfast_process<mutex>(ours, 1, no_work)),
                changes_of_owner("fair_mutex", processes, holdfast_process<fair_mutex>(ours, 1, no_work))};
            if constexpr (requires { Hand::option; }) {
                const config other{.url = database.url() + Hand::option};
                sides.push_back(changes_of_owner(fmt::format("mutex, {}", Hand::option + 1), processes,
                                                 holdfast_process<mutex>(other, 1, no_work)));
            }
            targets = {{"mutex", target::kind::ratio_at_least, 1},
                       {"mutex", target::kind::extra_at_least, 0.9, "least / most of a process"}};
        }
    };

    struct many_held : row, a_server {
        using a_server::database;

        many_held() : a_server(true), raw(database.url()), c({.url = database.url()}) {
            on_up = c.on_event([this](const event& e) {
                if (e.kind == event_kind::store_up) up_at = steady::now().time_since_epoch().count();
            });
            for (int i = 0; i < leases_in_a_table; ++i) {
                const auto name = fmt::format("bench:{}", i);
                held.push_back(mutex{c, name}.acquire());
                if (!raw.take(name)) throw std::runtime_error("the row is held");
            }
            sides = {{fmt::format("a statement for each ({})", Hand::driver),
                      [this](milliseconds) {
                          const auto from = steady::now();
                          for (int i = 0; i < leases_in_a_table; ++i)
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
            const auto enough = c.stats().renewals + leases_in_a_table;
            Hand::end_sessions(database);
            const auto late = steady::now() + 20s;
            while (c.stats().renewals < enough) {
                if (steady::now() > late) throw std::runtime_error("the locks were not renewed");
                std::this_thread::sleep_for(100us);
            }
            const auto end = steady::now();
            if (c.stats().lost != 0) throw std::runtime_error("a lock was lost");
            return in_ms(end - steady::time_point{steady::duration{up_at.load()}});
        }

        Hand raw;
        client c;
        std::vector<lease> held;
        std::atomic<steady::rep> up_at{0};
        event_subscription on_up;
    };
};

}  // namespace holdfast::bench
