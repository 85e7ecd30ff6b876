// Locks in ZooKeeper, against the requests that they need, and against the by_the_recipe's recipe.
#include "rows/pairs.hpp"
#include "rows/rows.hpp"
#include "rows/turns.hpp"
#include "support/zookeeper_client.hpp"
#include "support/zookeeper_server.hpp"

#include <holdfast/holdfast.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

namespace holdfast::bench {

namespace {

namespace zk = zookeeper;

const std::string by_hand_directory = "/by-hand";

// The recipe of ZooKeeper's documentation, on the library's own code of the protocol.
class documented_recipe {
  public:
    explicit documented_recipe(std::uint16_t port) : to_(port) {
        to_.ask(zk::create(by_hand_directory, "", zk::lifetime::persistent, zk::access::anyone));
    }

    void create() {
        const auto made = zk::parse_created(to_.ask(zk::create(
            by_hand_directory + "/x-", "", zk::lifetime::ephemeral_sequential, zk::access::anyone)));
        if (!made) throw std::runtime_error("ZooKeeper does not make the node");
        own_ = made->path.substr(by_hand_directory.size() + 1);
    }
    // Waits for the node before the own one.
    void await_turn() {
        for (;;) {
            auto all = to_.children(by_hand_directory);
            std::sort(all.begin(), all.end());
            const auto own = std::find(all.begin(), all.end(), own_);
            if (own == all.end()) throw std::runtime_error("the node is gone");
            if (own == all.begin()) return;
            to_.ask(zk::exists(by_hand_directory + "/" + *(own - 1), zk::watch::yes));
            if (to_.last == zk::code::ok)
                to_.await_event();
            else
                to_.ask(zk::remove("/none"));  // its watch would report a node of that name
        }
    }
    void remove() {
        to_.ask(zk::remove(by_hand_directory + "/" + own_));
        if (to_.last != zk::code::ok) throw std::runtime_error("ZooKeeper does not delete the node");
    }

  private:
    test::zookeeper_client to_;
    std::string own_;
};

struct own_ensemble {
    own_ensemble() : servers{{.tick = 2s, .longest = 20, .synced = true}}, ours{.url = servers.url()} {}

    test::zookeeper_servers servers;
    config ours;
};

struct ensemble_pairs : row, own_ensemble {
    ensemble_pairs()
        : raw(servers.port()), c(ours), native(c, "bench:native"), recursive(c, "bench:recursive") {
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
    documented_recipe raw;
    client c;
    mutex native;
    recursive_mutex recursive;
};

crew_body by_the_recipe(std::uint16_t port) {
    return [port](int, shared_page& page, const std::function<void()>& ready) {
        documented_recipe lock{port};
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
        const auto side_of = [](const char* name, crew_body body) {
            return side{name, [body = std::move(body)](milliseconds span) {
                            auto s = run_crew(processes, 2 * span, body);
                            // A process that takes the lock again at once has not handed it off.
                            s.value = s.extras.at("changes of owner per second");
                            return s;
                        }};
        };
        const auto nothing = [] {};
        sides = {side_of("the recipe of ZooKeeper's documentation", by_the_recipe(servers.port())),
                 side_of("mutex", holdfast_process<mutex>(ours, 1, nothing)),
                 side_of("fair_mutex", holdfast_process<fair_mutex>(ours, 1, nothing))};
        targets = {{"mutex", target::kind::ratio_at_least, 1},
                   {"mutex", target::kind::extra_at_least, 0.9, "least / most of a process"}};
    }
};

}  // namespace

std::unique_ptr<row> zookeeper_uncontended(redis_server&) { return std::make_unique<ensemble_pairs>(); }
std::unique_ptr<row> zookeeper_turns(redis_server&) { return std::make_unique<ensemble_turns>(); }

}  // namespace holdfast::bench
