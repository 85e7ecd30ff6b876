// One thread, no contention: what the library adds to the two round trips that a lock and an unlock need.
#include "raw.hpp"
#include "rows/pairs.hpp"
#include "rows/rows.hpp"

#include <holdfast/holdfast.hpp>

#include <stdexcept>

namespace holdfast::bench {

namespace {

struct alone : row {
    explicit alone(redis_server& server)
        : c({.url = server.url()}),
          native(c, "bench:native"),
          fenced(c, "bench:fenced", {.fenced = true}),
          recursive(c, "bench:recursive"),
          pings(server.port()),
          raw(server.port()) {
        raw.load(redis_scripts::mutex_release_and_hand_off);
        sides = {
            pings.floor(),
            {"same commands, blocking socket",
             [this](milliseconds span) {
                 return timed(span, [this] {
                     raw.add("SET", "bench:raw", token, "NX", "GET", "PX", "30000");
                     (void)raw.ask();
                     raw.add_script(redis_scripts::mutex_release_and_hand_off, 2, "bench:raw",
                                    "holdfast:q1:{bench:raw}", token, "3000", "holdfast:wake:", "0",
                                    "PUBLISH");
                     if (raw.ask() != ":1\r\n") throw std::runtime_error("the raw lock was not held");
                 });
             }},
            subject("mutex", native),
            subject("mutex, fenced", fenced),
            subject("recursive_mutex", recursive),
        };
        targets = {{"mutex", target::kind::ratio_at_most, 1.10},
                   {"mutex, fenced", target::kind::ratio_at_most, 1.15},
                   {"recursive_mutex", target::kind::ratio_at_most, 1.20}};
    }

    static constexpr std::string_view token = "AAAAAAAAAAAAAAAAAAAAAA|1732147200000000";
    client c;
    mutex native;
    mutex fenced;
    recursive_mutex recursive;
    two_round_trips pings;
    raw_connection raw;
};

}  // namespace

std::unique_ptr<row> uncontended(redis_server& server) { return std::make_unique<alone>(server); }

}  // namespace holdfast::bench
