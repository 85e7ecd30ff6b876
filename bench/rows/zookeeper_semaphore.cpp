// Hand-offs of the permits of a semaphore in ZooKeeper, against the same recipe by hand.
#include "rows/own_ensemble.hpp"
#include "rows/permits.hpp"
#include "rows/rows.hpp"
#include "rows/turns.hpp"
#include "rows/zookeeper_by_hand.hpp"
#include "support/zookeeper_client.hpp"

#include <memory>

namespace holdfast::bench {

namespace {

crew_body permits_by_hand(std::uint16_t port) {
    return [port](int, shared_page& page, const std::function<void()>& ready) {
        test::zookeeper_client to{port};
        documented_semaphore permits{to, shared_page::permits};
        tally t;
        ready();
        while (!page.over.load(std::memory_order_relaxed)) {
            permits.acquire();
            page.leave_permit(page.enter_with_permit());
            ++t.acquisitions;
            permits.release();
        }
        return t;
    };
}

struct permits_in_turn : row, own_ensemble {
    permits_in_turn() {
        constexpr int processes = 8;
        sides = {
            changes_of_owner("the recipe of Curator by hand", processes, permits_by_hand(servers.port())),
            changes_of_owner("counting_semaphore", processes, holdfast_permits(ours))};
        targets = {{"counting_semaphore", target::kind::ratio_at_least, 1},
                   {"counting_semaphore", target::kind::extra_at_least, 0.9, "least / most of a process"}};
    }
};

}  // namespace

std::unique_ptr<row> zookeeper_semaphore(redis_server&) { return std::make_unique<permits_in_turn>(); }

}  // namespace holdfast::bench
