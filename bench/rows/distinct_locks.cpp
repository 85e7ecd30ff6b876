// Many threads, a lock each: one shared connection (four, where there are few threads) against one per
// thread.
#include "raw.hpp"
#include "rows/rows.hpp"

#include <holdfast/holdfast.hpp>

#include <fmt/format.h>

#include <atomic>
#include <barrier>
#include <stdexcept>
#include <thread>

namespace holdfast::bench {

namespace {

// Pairs per second of `n` threads that each call their `pair(i)` until the span is over.
template <class Pair>
sample together(int n, milliseconds span, Pair&& pair) {
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> pairs{0};
    std::atomic<std::uint64_t> least{~0ULL};
    std::atomic<std::uint64_t> most{0};
    std::exception_ptr failure;
    std::atomic<bool> failed{false};
    std::barrier start{n + 1};
    std::vector<std::jthread> threads;
    for (int i = 0; i < n; ++i) {
        threads.emplace_back([&, i] {
            start.arrive_and_wait();
            std::uint64_t mine = 0;
            try {
                for (; !over.load(std::memory_order_relaxed); ++mine) pair(i);
            } catch (...) {
                if (!failed.exchange(true)) failure = std::current_exception();
            }
            pairs += mine;
            for (auto seen = least.load(); mine < seen && !least.compare_exchange_weak(seen, mine);) {
            }
            for (auto seen = most.load(); mine > seen && !most.compare_exchange_weak(seen, mine);) {
            }
        });
    }
    start.arrive_and_wait();
    const auto from = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(span);  // this is the time that is measured, not a wait for something
    over = true;
    const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    threads.clear();
    if (failure) std::rethrow_exception(failure);
    return {static_cast<double>(pairs) / took,
            {{"least / most of a thread", static_cast<double>(least) / static_cast<double>(most)}}};
}

struct distinct : row {
    distinct(redis_server& on, int threads)
        : server(on), n(threads), c({.url = on.url(), .connections = threads <= 4 ? 4U : 1U}) {
        for (int i = 0; i < n; ++i) {
            raw.push_back(std::make_unique<raw_connection>(server.port()));
            locks.push_back(std::make_unique<mutex>(c, fmt::format("bench:{}", i)));
            names.push_back(fmt::format("bench:raw:{}", i));
            queues.push_back(fmt::format("holdfast:q1:{{{}}}", names.back()));
        }
        raw.front()->load(redis_scripts::native_leave);
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
        r.add_script(redis_scripts::native_leave, 2, names[i], queues[i], token, "3000",
                     "holdfast:wake:", "0");
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
