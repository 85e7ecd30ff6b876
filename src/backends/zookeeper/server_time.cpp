#include "backends/zookeeper/server_time.hpp"

#include "backends/zookeeper/answers.hpp"
#include "base/random.hpp"

#include <string>
#include <utility>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::answer;

void read_clocks(const std::shared_ptr<zookeeper::session>& with, const paths& where, zookeeper::access whom,
                 time_point deadline, handler<result<std::vector<clock_reading>>> done) {
    // No lock's node is called so: escaped() makes a '%' only before two digits.
    const auto node = where.base() + "/%time-" + base::client_id::make().hex();
    std::vector<zookeeper::session::call> calls;
    const auto then_go_on = [](const answer&) {};
    for (const auto& directory : where.ancestors(where.base()))
        calls.push_back({zookeeper::create(directory, {}, zookeeper::lifetime::container, whom), then_go_on});
    calls.push_back({zookeeper::create(node, {}, zookeeper::lifetime::ephemeral, whom),
                     [node, sent = boot_clock::now(), done = std::move(done)](const answer& a) mutable {
                         const auto made = a.ok() ? zookeeper::parse_created(a.body) : std::nullopt;
                         if (!made) return done(failure_of(a, node));
                         auto read = read_between(sent, boot_clock::now(), made->about.ctime * 1'000);
                         read.error += std::chrono::milliseconds{1};  // it counts whole milliseconds
                         done(std::vector<clock_reading>{read});
                     }});
    calls.push_back({zookeeper::remove(node), then_go_on});
    with->submit(std::move(calls), deadline);
}

}  // namespace holdfast::zookeeper_backend
