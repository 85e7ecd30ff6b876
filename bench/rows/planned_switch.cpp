// What a planned switch of a joint store, there and back, does to clients that acquire locks meanwhile. Its
// stores are two servers that are a network away, so that round trips are what counts.
#include "rows/pairs.hpp"
#include "rows/rows.hpp"
#include "support/background.hpp"
#include "support/eventually.hpp"
#include "support/fault_proxy.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/holdfast.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::bench {

namespace {

constexpr auto usual_time = 2s;  // about as long as a switch there and back
constexpr auto distance = 10ms;  // a round trip to either store
constexpr int threads = 50;
constexpr int locks_of_each = 16;

// How long acquisitions took, in us.
using times = std::vector<double>;

double quantile(times of, double q) {
    const auto at = of.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(of.size() - 1));
    std::nth_element(of.begin(), at, of.end());
    return *at;
}

// Takes locks of nobody else, one after the other.
times acquisitions_until(const std::atomic<bool>& over, client& c, int thread) {
    std::deque<mutex> locks;
    for (int i = 0; i < locks_of_each; ++i)
        locks.emplace_back(c, "bench:" + std::to_string(thread) + ":" + std::to_string(i));
    times took;
    for (std::size_t i = 0; !over; ++i) {
        auto& one = locks[i % locks.size()];
        const auto from = steady::now();
        one.lock();
        took.push_back(std::chrono::duration<double, std::micro>(steady::now() - from).count());
        one.unlock();
    }
    return took;
}

// Of all threads, while `f` runs.
template <class F>
times acquisitions_while(client& c, const F& f) {
    std::atomic<bool> over{false};
    std::vector<std::future<times>> each;
    for (int t = 0; t < threads; ++t)
        each.push_back(test::in_background([&, t] { return acquisitions_until(over, c, t); }));
    // Before the futures wait for their threads, also if `f` throws.
    const std::shared_ptr<void> at_the_end{nullptr, [&](void*) { over = true; }};
    f();
    over = true;
    times all;
    for (auto& one : each) {
        const auto took = one.get();
        all.insert(all.end(), took.begin(), took.end());
    }
    return all;
}

struct switched : row {
    explicit switched(redis_server& server) : to_first(server, no_memory), to_second(second, no_memory) {
        for (auto* const link : {&to_first, &to_second}) link->delay(distance);
        clients.emplace(joined());
        operator_.emplace(joined());
        // A Redis that has just started is in quarantine.
        mutex first{*clients, "bench:first"};
        const auto end = steady::now() + 60s;
        for (std::error_code ec; !first.try_acquire(ec);)
            if (steady::now() > end) throw std::runtime_error("the lock is not granted: " + ec.message());
        sides = {{"no switch", [this](milliseconds) { return without_switch(); }},
                 {"switched there and back", [this](milliseconds) { return with_switch(); }}};
        targets = {{"switched there and back", target::kind::extra_at_most, 2, beyond}};
    }

    [[nodiscard]] config joined() const {
        config how{
            .url = "joint:mode_lease=1s,max_skew=0ms,arbiter=sqlite:" + (folder.path() / "mode").string() +
                   ',' + to_first.url() + "?longest_lease=2s," + to_second.url() + "?longest_lease=2s"};
        how.lease = 2s;
        return how;
    }
    times usual() {
        return acquisitions_while(*clients, [] { std::this_thread::sleep_for(usual_time); });
    }
    times while_changed_to(std::size_t level) {
        return acquisitions_while(*clients,
                                  [&] { (void)admin::switch_mode(*operator_, level, {.reason = "bench"}); });
    }

    sample without_switch() { return summary(usual()); }
    sample with_switch() {
        const auto before = quantile(usual(), most);
        auto took = while_changed_to(1);
        const auto back = while_changed_to(0);
        took.insert(took.end(), back.begin(), back.end());
        auto s = summary(std::move(took));
        const auto both = timed(200ms, [this] {
            ping_first.round_trip();
            ping_second.round_trip();
        });
        s.extras["us, a round trip to each store"] = both.value;
        s.extras[beyond] = (s.value - before) / both.value;
        return s;
    }
    static sample summary(times took) {
        return {quantile(took, most),
                {{"us, median", quantile(took, 0.5)},
                 {"us, longest", quantile(took, 1)},
                 {"acquisitions", static_cast<double>(took.size())}}};
    }

    static constexpr auto no_memory = test::fault_proxy::memory::none;
    static constexpr auto most = 0.999;
    static constexpr auto beyond = "round trips to each beyond the usual";

    const test::temp_dir folder;
    redis_server second;
    test::fault_proxy to_first, to_second;
    pinger ping_first{to_first.port()}, ping_second{to_second.port()};
    std::optional<client> clients, operator_;
};

}  // namespace

std::unique_ptr<row> joint_switch(redis_server& server) { return std::make_unique<switched>(server); }

}  // namespace holdfast::bench
