// Threads that acquire and release in a loop, and the two round trips that this needs.
#pragma once

#include "harness.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::bench {

using steady = std::chrono::steady_clock;

// The median time of `pair`, in us: the mean would count how often the host takes the CPU away.
template <class Pair>
sample timed(milliseconds span, Pair&& pair) {
    std::vector<double> took;
    took.reserve(200'000);
    const auto end = steady::now() + span;
    for (auto from = steady::now(); from < end;) {
        pair();
        const auto to = steady::now();
        took.push_back(std::chrono::duration<double, std::micro>(to - from).count());
        from = to;
    }
    const auto middle = took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2);
    std::nth_element(took.begin(), middle, took.end());
    return {*middle, {}};
}

// Locks and unlocks in a loop.
template <class Lock>
[[nodiscard]] side subject(const char* name, Lock& lock) {
    return {name, [&lock](milliseconds span) {
                return timed(span, [&lock] {
                    lock.lock();
                    lock.unlock();
                });
            }};
}

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
    std::this_thread::sleep_for(span);  // the measured time, not a wait for an event
    over = true;
    const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    threads.clear();
    if (failure) std::rethrow_exception(failure);
    return {static_cast<double>(pairs) / took,
            {{"least / most of a thread", static_cast<double>(least) / static_cast<double>(most)}}};
}

// Blocking hiredis, with the command formatted beforehand.
class pinger {
  public:
    explicit pinger(std::uint16_t port) : c_(redisConnect("127.0.0.1", port), &redisFree) {
        if (!c_ || c_->err != 0) throw std::runtime_error("hiredis could not connect");
    }
    void round_trip() {
        static constexpr std::string_view ping = "*1\r\n$4\r\nPING\r\n";
        void* reply = nullptr;
        if (redisAppendFormattedCommand(c_.get(), ping.data(), ping.size()) != REDIS_OK ||
            redisGetReply(c_.get(), &reply) != REDIS_OK)
            throw std::runtime_error("hiredis lost its connection");
        freeReplyObject(reply);
    }

  private:
    std::unique_ptr<redisContext, void (*)(redisContext*)> c_;
};

// The floor of several rows.
class two_round_trips {
  public:
    explicit two_round_trips(std::uint16_t port) : ping_(port) {}
    [[nodiscard]] side floor() {
        return {"2 round trips (hiredis)", [this](milliseconds span) {
                    return timed(span, [this] {
                        ping_.round_trip();
                        ping_.round_trip();
                    });
                }};
    }

  private:
    pinger ping_;
};

}  // namespace holdfast::bench
