// Locks in ZooKeeper, against the requests that they need, and against the recipe of its documentation.
#include "rows/own_ensemble.hpp"
#include "rows/pairs.hpp"
#include "rows/rows.hpp"
#include "rows/turns.hpp"
#include "rows/zookeeper_by_hand.hpp"
#include "support/zookeeper_client.hpp"

#include <holdfast/holdfast.hpp>

#include <memory>

namespace holdfast::bench {

namespace {

struct ensemble_pairs : row, own_ensemble {
    ensemble_pairs()
        : to(servers.port()), raw(to), c(ours), native(c, "bench:native"), recursive(c, "bench:recursive") {
        sides = {{"create and delete",
                  [this](milliseconds span) {
                      return timed(span, [this] {
                          raw.create();
                          raw.remove();
                      });
                  }},
                 subject("mutex", native),
                 subject("recursive_mutex", recursive)};
        targets = {{"mutex", target::kind::ratio_at_most, 1.11}};
    }
    test::zookeeper_client to;
    documented_recipe raw;
    client c;
    mutex native;
    recursive_mutex recursive;
};

crew_body by_the_recipe(std::uint16_t port) {
    return [port](int, shared_page& page, const std::function<void()>& ready) {
        test::zookeeper_client to{port};
        documented_recipe lock{to};
        tally t;
        ready();
        while (!page.over.load(std::memory_order_relaxed)) {
            lock.create();
            lock.await_turn();
            page.enter();
            page.leave();
            ++t.acquisitions;
            lock.remove();
        }
        return t;
    };
}

struct ensemble_turns : row, own_ensemble {
    ensemble_turns() {
        constexpr int processes = 8;
        const auto nothing = [] {};
        sides = {changes_of_owner("the recipe of ZooKeeper's documentation", processes,
                                  by_the_recipe(servers.port())),
                 changes_of_owner("mutex", processes, holdfast_process<mutex>(ours, 1, nothing)),
                 changes_of_owner("fair_mutex", processes, holdfast_process<fair_mutex>(ours, 1, nothing))};
        targets = {{"mutex", target::kind::ratio_at_least, 1},
                   {"mutex", target::kind::extra_at_least, 0.9, "least / most of a process"}};
    }
};

}  // namespace

std::unique_ptr<row> zookeeper_uncontended(redis_server&) { return std::make_unique<ensemble_pairs>(); }
std::unique_ptr<row> zookeeper_turns(redis_server&) { return std::make_unique<ensemble_turns>(); }

}  // namespace holdfast::bench
