// What a lock costs with many held locks, waiters or clients. Flat is good; the first side has the fewest.
#include "rows/rows.hpp"

#include <holdfast/async.hpp>
#include <holdfast/holdfast.hpp>

#include <fmt/format.h>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <stdexcept>

namespace holdfast::bench {

namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;

double us_since(clock::time_point from) {
    return std::chrono::duration<double, std::micro>(clock::now() - from).count();
}

// --- one more lock, while the client holds n --------------------------------------------------------

struct beside_held : row {
    explicit beside_held(redis_server& server) {
        for (const std::size_t n : {1U, 1'000U, 100'000U, 1'000'000U}) {
            holders.push_back(std::make_unique<holder>(server, n));
            sides.push_back({fmt::format("{} held", n), [at = holders.back().get()](milliseconds span) {
                                 const auto from = clock::now();
                                 std::uint64_t pairs = 0;
                                 for (; clock::now() - from < span; ++pairs) {
                                     at->extra.lock();
                                     at->extra.unlock();
                                 }
                                 return sample{us_since(from) / static_cast<double>(pairs), {}};
                             }});
        }
    }

    struct holder {
        holder(redis_server& server, std::size_t n)
            : c({.url = server.url(), .lease = 1h, .close_timeout = 0ms}),
              extra(c, fmt::format("bench:{}", n)) {
            asio::io_context loop;
            held.reserve(n);
            while (held.size() < n) {
                const auto from = held.size();
                for (std::size_t i = from; i < std::min(n, from + 10'000); ++i) {
                    mutex lock{c, fmt::format("bench:{}:{}", n, i)};
                    async_acquire(lock, asio::bind_executor(loop.get_executor(), [this](auto ec, lease l) {
                                      if (ec || !l) throw std::runtime_error("not acquired");
                                      held.push_back(std::move(l));
                                  }));
                }
                loop.run();
                loop.restart();
            }
        }
        std::vector<lease> held;
        client c;  // destroyed before `held`, so that the million is not released: the server ends too
        mutex extra;
    };
    std::vector<std::unique_ptr<holder>> holders;
};

// --- one lock, n waiters of one client --------------------------------------------------------------

struct many_waiters : row {
    explicit many_waiters(redis_server& server) : c({.url = server.url()}), other({.url = server.url()}) {
        for (const int n : {1, 100, 10'000}) {
            sides.push_back({fmt::format("{} waiting", n), [this, n](milliseconds span) {
                                 std::uint64_t served = 0;
                                 double took = 0;
                                 do {
                                     took += serve(n);
                                     served += static_cast<std::uint64_t>(n);
                                 } while (took < std::chrono::duration<double, std::micro>(span).count());
                                 return sample{took / static_cast<double>(served), {}};
                             }});
        }
    }
    // The time until all are served.
    double serve(int n) {
        auto block = mutex{other, "bench:line"}.acquire();
        mutex lock{c, "bench:line"};
        asio::io_context loop;
        int served = 0;
        for (int i = 0; i < n; ++i) {
            async_acquire(lock, asio::bind_executor(loop.get_executor(), [&](auto ec, const lease& l) {
                              if (ec || !l.valid()) throw std::runtime_error("not acquired");
                              ++served;
                          }));
        }
        const auto from = clock::now();
        block.release();
        loop.run();
        if (served != n) throw std::runtime_error("a waiter was not served");
        return us_since(from);
    }

    client c;
    client other;
};

// --- n clients that wait for one lock ---------------------------------------------------------------

struct crowd_of_clients : row {
    explicit crowd_of_clients(redis_server& server) : at(server) {
        for (const std::size_t n : {2U, 50U, 500U}) {
            sides.push_back({fmt::format("{} clients", n), [this, n](milliseconds span) {
                                 while (clients.size() < n)
                                     clients.push_back(std::make_unique<client>(config{.url = at.url()}));
                                 clients.resize(n);
                                 return take_turns(span);
                             }});
        }
    }
    sample take_turns(milliseconds span) {
        asio::io_context loop;
        std::vector<std::unique_ptr<mutex>> locks;
        for (auto& c : clients) locks.push_back(std::make_unique<mutex>(*c, "bench:crowd"));
        bool over = false;
        int inside = 0;
        std::uint64_t turns = 0;
        const std::function<void(mutex&)> turn = [&](mutex& lock) {
            async_acquire(lock, asio::bind_executor(loop.get_executor(), [&](auto ec, lease l) {
                              if (ec || !l.valid() || inside++ != 0) throw std::runtime_error("not acquired");
                              ++turns;
                              --inside;
                              async_release(std::move(l),
                                            asio::bind_executor(loop.get_executor(), [&](release_result r) {
                                                if (!r) throw std::runtime_error("lost");
                                                if (!over) turn(lock);
                                            }));
                          }));
        };
        for (auto& lock : locks) turn(*lock);
        const auto from = clock::now();
        loop.run_for(span);
        const auto took = us_since(from);
        const auto counted = turns;
        over = true;
        loop.run();
        return {took / static_cast<double>(counted), {}};
    }

    redis_server& at;
    std::vector<std::unique_ptr<client>> clients;
};

}  // namespace

std::unique_ptr<row> scale_held(redis_server& server) { return std::make_unique<beside_held>(server); }
std::unique_ptr<row> scale_waiters(redis_server& server) { return std::make_unique<many_waiters>(server); }
std::unique_ptr<row> scale_clients(redis_server& server) {
    return std::make_unique<crowd_of_clients>(server);
}

}  // namespace holdfast::bench
