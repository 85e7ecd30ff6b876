// One thread, no contention: what the library adds to the two round trips that a lock and an unlock need.
#include "raw.hpp"
#include "rows/rows.hpp"

#include <holdfast/holdfast.hpp>

#include <hiredis/hiredis.h>

#include <algorithm>
#include <stdexcept>

namespace holdfast::bench {

namespace {

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

struct alone : row {
    explicit alone(redis_server& server)
        : c({.url = server.url()}),
          native(c, "bench:native"),
          fenced(c, "bench:fenced", {.fenced = true}),
          recursive(c, "bench:recursive"),
          ping(server.port()),
          raw(server.port()) {
        raw.load(redis_scripts::native_leave);
        sides = {
            {"2 round trips (hiredis)",
             [this](milliseconds span) {
                 return timed(span, [this] {
                     ping.round_trip();
                     ping.round_trip();
                 });
             }},
            {"same commands, blocking socket",
             [this](milliseconds span) {
                 return timed(span, [this] {
                     raw.add("SET", "bench:raw", token, "NX", "GET", "PX", "30000");
                     (void)raw.ask();
                     raw.add_script(redis_scripts::native_leave, 2, "bench:raw", "holdfast:q1:{bench:raw}",
                                    token, "3000", "holdfast:wake:", "0");
                     if (raw.ask() != ":1\r\n") throw std::runtime_error("the raw lock was not held");
                 });
             }},
            subject("mutex", native),
            subject("mutex, fenced", fenced),
            subject("recursive_mutex", recursive),
        };
        targets = {{"mutex", target::kind::ratio_at_most, 1.10},
                   {"mutex, fenced", target::kind::ratio_at_most, 1.15},
                   {"recursive_mutex", target::kind::ratio_at_most, 1.20}};
    }

    template <class Lock>
    static side subject(const char* name, Lock& lock) {
        return {name, [&lock](milliseconds span) {
                    return timed(span, [&lock] {
                        lock.lock();
                        lock.unlock();
                    });
                }};
    }

    static constexpr std::string_view token = "AAAAAAAAAAAAAAAAAAAAAA|1732147200000000";
    client c;
    mutex native;
    mutex fenced;
    recursive_mutex recursive;
    pinger ping;
    raw_connection raw;
};

}  // namespace

std::unique_ptr<row> uncontended(redis_server& server) { return std::make_unique<alone>(server); }

}  // namespace holdfast::bench
