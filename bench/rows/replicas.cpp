// What it costs to have each grant confirmed by a replica.
#include "raw.hpp"
#include "rows/pairs.hpp"
#include "rows/rows.hpp"
#include "support/eventually.hpp"

#include <holdfast/holdfast.hpp>

#include <stdexcept>

namespace holdfast::bench {

namespace {

redis_server::options replica_of(const redis_server& master) {
    redis_server::options o;
    o.config = {"replicaof 127.0.0.1 " + std::to_string(master.port())};
    return o;
}

struct confirmed : row {
    explicit confirmed(redis_server& server)
        : replica(replica_of(server)), c({.url = server.url()}), raw(server.port()) {
        if (!test::eventually(test::patience, [&] {
                return server.command({"WAIT", "1", "100"}).number == 1;
            }))
            throw std::runtime_error("the replica did not come up");
        raw.load(redis_scripts::mutex_release_and_hand_off);
        sides = {
            {"SET, WAIT and leave, blocking socket",
             [this](milliseconds span) {
                 return timed(span, [this] {
                     raw.add("SET", "bench:raw", token, "NX", "GET", "PX", "30000");
                     raw.add("WAIT", "1", "1000");
                     (void)raw.ask();
                     if (raw.read() != ":1\r\n") throw std::runtime_error("the replica is gone");
                     raw.add_script(redis_scripts::mutex_release_and_hand_off, 2, "bench:raw",
                                    "holdfast:q1:{bench:raw}", token, "3000", "holdfast:wake:", "0",
                                    "PUBLISH");
                     if (raw.ask() != ":1\r\n") throw std::runtime_error("the raw lock was not held");
                 });
             }},
            subject("mutex, no replica", plain),
            subject("mutex, one replica", copied),
            subject("mutex, fenced, one replica", fenced),
        };
    }

    static side subject(const char* name, mutex& lock) {
        return {name, [&lock](milliseconds span) {
                    return timed(span, [&lock] {
                        lock.lock();
                        lock.unlock();
                    });
                }};
    }

    static constexpr std::string_view token = "AAAAAAAAAAAAAAAAAAAAAA|1732147200000000";
    static constexpr replication one{.at_least = 1, .within = 1s};
    redis_server replica;
    client c;
    raw_connection raw;
    mutex plain{c, "bench:plain"};
    mutex copied{c, "bench:copied", {.replicas = one}};
    mutex fenced{c, "bench:fenced", {.fenced = true, .replicas = one}};
};

}  // namespace

std::unique_ptr<row> replicas(redis_server& server) { return std::make_unique<confirmed>(server); }

}  // namespace holdfast::bench
