// Asynchronous acquisitions: many in flight, and the memory that each of them takes.
#include "raw.hpp"
#include "rows/rows.hpp"

#include <holdfast/async.hpp>
#include <holdfast/holdfast.hpp>

#include <fmt/format.h>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <deque>
#include <stdexcept>

#include <malloc.h>

namespace holdfast::bench {

namespace {

namespace asio = boost::asio;
using steady_clock = std::chrono::steady_clock;
using boost::system::error_code;

constexpr std::size_t pipeline = 64;
constexpr int in_flight = 128;

// Acquires and releases one lock in a loop, until `over` is true.
class chain {
  public:
    chain(client& c, asio::io_context& loop, int i) : loop_(loop), lock_(c, fmt::format("bench:{}", i)) {}

    void begin(const bool& over) {
        async_acquire(
            lock_, asio::bind_executor(loop_.get_executor(), [this, &over](error_code ec, lease held) {
                if (ec || !held.valid()) throw std::runtime_error("not acquired: " + ec.message());
                async_release(std::move(held),
                              asio::bind_executor(loop_.get_executor(), [this, &over](release_result r) {
                                  if (!r) throw std::runtime_error("lost");
                                  ++pairs;
                                  if (!over) begin(over);
                              }));
            }));
    }
    std::uint64_t pairs = 0;

  private:
    asio::io_context& loop_;
    mutex lock_;
};

struct many_in_flight : row {
    explicit many_in_flight(redis_server& on) : c({.url = on.url()}), raw(on.port()) {
        for (std::size_t i = 0; i < pipeline; ++i) {
            names.push_back(fmt::format("bench:raw:{}", i));
            queues.push_back(fmt::format("holdfast:q1:{{{}}}", names.back()));
        }
        for (int i = 0; i < in_flight; ++i) chains.push_back(std::make_unique<chain>(c, loop, i));
        raw.load(redis_scripts::mutex_release_and_hand_off);
        sides = {{"raw pipeline, depth 64", [this](milliseconds span) { return pipelined(span); }},
                 {"async, 128 in flight", [this](milliseconds span) { return chained(span); }}};
        targets = {{"async, 128 in flight", target::kind::ratio_at_least, 0.9}};
    }

    sample pipelined(milliseconds span) {
        const auto from = steady_clock::now();
        std::uint64_t pairs = 0;
        // Each reply is followed by a new command at once, so that 64 are always in flight.
        const auto take = [this](std::size_t i) {
            raw.add("SET", names[i], token, "NX", "GET", "PX", "30000");
        };
        const auto leave = [this](std::size_t i) {
            raw.add_script(redis_scripts::mutex_release_and_hand_off, 2, names[i], queues[i], token, "3000",
                           "holdfast:wake:", "0", "PUBLISH");
        };
        for (std::size_t i = 0; i < pipeline; ++i) take(i);
        send();
        while (steady_clock::now() - from < span) {
            for (std::size_t i = 0; i < pipeline; ++i) {
                if (raw.read() != "$-1\r\n") throw std::runtime_error("the raw lock was held");
                leave(i);
                if (i % 16 == 15) send();
            }
            for (std::size_t i = 0; i < pipeline; ++i) {
                if (raw.read() != ":1\r\n") throw std::runtime_error("the raw lock was not held");
                take(i);
                if (i % 16 == 15) send();
            }
            pairs += pipeline;
        }
        const auto took = steady_clock::now() - from;
        for (std::size_t i = 0; i < pipeline; ++i) {
            (void)raw.read();
            leave(i);
        }
        send();
        for (std::size_t i = 0; i < pipeline; ++i) (void)raw.read();
        return {static_cast<double>(pairs) / std::chrono::duration<double>(took).count(), {}};
    }
    void send() {
        raw.send(raw.to_send);
        raw.to_send.clear();
    }

    sample chained(milliseconds span) {
        bool over = false;
        for (auto& one : chains) {
            one->pairs = 0;
            one->begin(over);
        }
        const auto from = steady_clock::now();
        loop.restart();
        loop.run_for(span);
        const auto took = std::chrono::duration<double>(steady_clock::now() - from).count();
        std::uint64_t pairs = 0;
        for (const auto& one : chains) pairs += one->pairs;
        over = true;
        loop.run();
        if (c.stats().held_now != 0) throw std::runtime_error("something is still held");
        return {static_cast<double>(pairs) / took, {}};
    }

    static constexpr std::string_view token = "AAAAAAAAAAAAAAAAAAAAAA|1732147200000000";
    client c;
    asio::io_context loop;
    raw_connection raw;
    std::vector<std::string> names;
    std::vector<std::string> queues;
    std::vector<std::unique_ptr<chain>> chains;
};

// --- memory -----------------------------------------------------------------------------------------

double allocated() { return static_cast<double>(::mallinfo2().uordblks); }

struct footprint : row {
    explicit footprint(redis_server& on) : server(on) {
        sides = {{"10,000 locks held", [this](milliseconds) { return held(); }},
                 {"10,000 waiters on 1,000 locks", [this](milliseconds) { return waiting(); }}};
    }

    double used_by_server() {
        const auto info = server.command({"INFO", "memory"}).text;
        const auto at = info.find("used_memory:");
        return at == std::string::npos ? 0 : std::stod(info.substr(at + 12));
    }

    sample held() {
        client c{{.url = server.url()}};
        std::deque<mutex> locks;

        for (int i = 0; i < count; ++i) locks.emplace_back(c, fmt::format("bench:held:{}", i));
        (void)locks[0].acquire();
        const auto here = allocated();
        const auto there = used_by_server();
        std::vector<lease> leases;
        leases.reserve(count);
        const auto from = steady_clock::now();
        for (auto& lock : locks) leases.push_back(lock.acquire());
        const auto took = std::chrono::duration<double, std::micro>(steady_clock::now() - from).count();
        return {took / count,
                {{"bytes of the client, each", (allocated() - here) / count},
                 {"bytes of Redis, each", (used_by_server() - there) / count}}};
    }

    // Every waiter gets its turn.
    sample waiting() {
        client c{{.url = server.url()}};
        client other{{.url = server.url()}};
        asio::io_context loop;
        std::deque<mutex> locks;
        std::vector<lease> block;

        for (int i = 0; i < names; ++i) {
            locks.emplace_back(c, fmt::format("bench:wait:{}", i));
            block.push_back(mutex{other, fmt::format("bench:wait:{}", i)}.acquire());
        }
        const auto here = allocated();
        const auto there = used_by_server();
        int served = 0;
        for (int i = 0; i < count; ++i) {
            async_acquire(locks[static_cast<std::size_t>(i % names)],
                          asio::bind_executor(loop.get_executor(), [&](error_code ec, const lease& l) {
                              if (ec || !l.valid()) throw std::runtime_error("not acquired: " + ec.message());
                              ++served;
                          }));
        }
        // The first waiter of each lock is in the store's queue, the others wait behind it.
        const auto late = steady_clock::now() + 20s;
        while (queued() < names) {
            if (steady_clock::now() > late) throw std::runtime_error("the waiters are not queued");
            std::this_thread::sleep_for(1ms);
        }
        const auto client_bytes = (allocated() - here) / count;
        const auto redis_bytes = (used_by_server() - there) / names;
        const auto from = steady_clock::now();
        for (auto& l : block) l.release();
        loop.run();
        const auto took = std::chrono::duration<double, std::micro>(steady_clock::now() - from).count();
        if (served != count) throw std::runtime_error("a waiter was not served");
        return {took / count,
                {{"bytes of the client, each", client_bytes}, {"bytes of Redis, each", redis_bytes}}};
    }
    int queued() {
        int n = 0;
        for (const auto& key : server.command({"KEYS", "holdfast:q*"}).items) n += key.text.empty() ? 0 : 1;
        return n;
    }

    static constexpr int count = 10'000;
    static constexpr int names = 1'000;
    redis_server& server;
};

}  // namespace

std::unique_ptr<row> async_many(redis_server& server) { return std::make_unique<many_in_flight>(server); }
std::unique_ptr<row> memory(redis_server& server) { return std::make_unique<footprint>(server); }

}  // namespace holdfast::bench
