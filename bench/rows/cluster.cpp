// What cluster support costs: a client of a cluster beside a client of one server, both on the same server,
// which has all slots.
#include "rows/pairs.hpp"
#include "rows/rows.hpp"
#include "support/loopback.hpp"

#include <holdfast/holdfast.hpp>

#include <stdexcept>
#include <string>

namespace holdfast::bench {

namespace {

redis_server::options all_slots(const test::reserved_port& bus) {
    return {.config = {"cluster-enabled yes", "cluster-port " + std::to_string(bus.number())}};
}

struct beside_single : row {
    beside_single()
        : single({.url = made(server).url()}),
          spread({.url = "redis+cluster://127.0.0.1:" + std::to_string(server.port())}),
          single_mutex(single, "bench:single"),
          spread_mutex(spread, "bench:cluster"),
          single_recursive(single, "bench:single:recursive"),
          spread_recursive(spread, "bench:cluster:recursive") {
        sides = {subject("redis://, mutex", single_mutex), subject("redis+cluster://, mutex", spread_mutex),
                 subject("redis://, recursive_mutex", single_recursive),
                 subject("redis+cluster://, recursive_mutex", spread_recursive)};
        targets = {{"redis+cluster://, mutex", target::kind::ratio_at_most, 1.05}};
    }

    static redis_server& made(redis_server& one) {
        place(placement::split, one.pid());
        if (one.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}).text != "OK" ||
            !test::eventually(test::patience, [&] {
                return one.command({"SET", "bench:up", "1", "PX", "1"}).text == "OK";
            }))
            throw std::runtime_error("the server did not become a cluster");
        return one;
    }

    test::reserved_port bus;
    redis_server server{all_slots(bus)};
    client single, spread;
    mutex single_mutex, spread_mutex;
    recursive_mutex single_recursive, spread_recursive;
};

}  // namespace

std::unique_ptr<row> cluster(redis_server&) { return std::make_unique<beside_single>(); }

}  // namespace holdfast::bench
