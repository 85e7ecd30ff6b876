// Many threads, a lock each: one shared connection (four, where there are few threads) against one per
// thread.
#include "raw.hpp"
#include "rows/pairs.hpp"
#include "rows/rows.hpp"

#include <holdfast/holdfast.hpp>

#include <fmt/format.h>

#include <stdexcept>

namespace holdfast::bench {

namespace {

struct distinct : row {
    distinct(redis_server& on, int threads)
        : server(on), n(threads), c({.url = on.url(), .redis = {.connections = threads <= 4 ? 4U : 1U}}) {
        for (int i = 0; i < n; ++i) {
            raw.push_back(std::make_unique<raw_connection>(server.port()));
            locks.push_back(std::make_unique<mutex>(c, fmt::format("bench:{}", i)));
            names.push_back(fmt::format("bench:raw:{}", i));
            queues.push_back(fmt::format("holdfast:q1:{{{}}}", names.back()));
        }
        raw.front()->load(redis_scripts::mutex_release_and_hand_off);
        sides = {
            {"connection per thread",
             [this](milliseconds span) {
                 return together(n, span, [this](int i) { raw_pair(static_cast<std::size_t>(i)); });
             }},
            {"mutex",
             [this](milliseconds span) {
                 auto s = together(n, span, [this](int i) {
                     auto& lock = *locks[static_cast<std::size_t>(i)];
                     lock.lock();
                     lock.unlock();
                 });
                 if (c.stats().held_now != 0) throw std::runtime_error("something is still held");
                 return s;
             }},
        };
        const double limit = n <= 4 ? 0.9 : n <= 32 ? 2 : 3;
        targets = {{"mutex", target::kind::ratio_at_least, limit}};
    }

    void raw_pair(std::size_t i) {
        auto& r = *raw[i];
        r.add("SET", names[i], token, "NX", "GET", "PX", "30000");
        (void)r.ask();
        r.add_script(redis_scripts::mutex_release_and_hand_off, 2, names[i], queues[i], token, "3000",
                     "holdfast:wake:", "0", "PUBLISH");
        if (r.ask() != ":1\r\n") throw std::runtime_error("the raw lock was not held");
    }

    static constexpr std::string_view token = "AAAAAAAAAAAAAAAAAAAAAA|1732147200000000";
    redis_server& server;
    int n;
    client c;
    std::vector<std::unique_ptr<mutex>> locks;
    std::vector<std::unique_ptr<raw_connection>> raw;
    std::vector<std::string> names;
    std::vector<std::string> queues;
};

}  // namespace

std::unique_ptr<row> distinct_locks(redis_server& server, int threads) {
    return std::make_unique<distinct>(server, threads);
}

}  // namespace holdfast::bench
