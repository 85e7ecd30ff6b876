// The other kinds of locks, one thread, no contention.
#include "rows/pairs.hpp"
#include "rows/rows.hpp"

#include <holdfast/holdfast.hpp>

namespace holdfast::bench {

namespace {

struct each_kind : row {
    explicit each_kind(redis_server& server)
        : c({.url = server.url()}),
          fenced(c, "bench:fenced"),
          fair(c, "bench:fair"),
          shared(c, "bench:shared"),
          counting(c, "bench:counting"),
          permits(c, "bench:permits"),
          counted(c, "bench:latch"),
          pings(server.port()) {
        counting.try_set_permits(4);
        permits.try_set_permits(4);
        sides = {
            pings.floor(),
            pairs("fenced_mutex", [this] { (void)fenced.acquire(); }),
            pairs("fair_mutex", [this] { (void)fair.acquire(); }),
            pairs("shared_mutex, reading", [this] { (void)shared.acquire_shared(); }),
            pairs("shared_mutex, writing", [this] { (void)shared.acquire(); }),
            pairs("counting_semaphore", [this] { (void)counting.acquire(); }),
            pairs("permit_semaphore", [this] { (void)permits.acquire(); }),
            pairs("latch, set and counted down",
                  [this] {
                      if (!counted.try_set_count(1) || counted.count_down() != 0)
                          throw std::runtime_error("the latch has a wrong count");
                  }),
        };
    }
    // A lease releases in its destructor.
    template <class Pair>
    side pairs(const char* name, Pair pair) {
        return {name, [this, pair](milliseconds span) {
                    auto s = timed(span, pair);
                    if (c.stats().held_now != 0) throw std::runtime_error("something is still held");
                    return s;
                }};
    }

    client c;
    fenced_mutex fenced;
    fair_mutex fair;
    shared_mutex shared;
    counting_semaphore counting;
    permit_semaphore permits;
    latch counted;
    two_round_trips pings;
};

}  // namespace

std::unique_ptr<row> kinds(redis_server& server) { return std::make_unique<each_kind>(server); }

}  // namespace holdfast::bench
