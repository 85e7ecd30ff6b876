// One client holds 100,000 locks and renews them all, as it does after a reconnect.
#include "raw.hpp"
#include "rows/rows.hpp"

#include <holdfast/holdfast.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace holdfast::bench {

namespace {

constexpr int held_locks = 100'000;
constexpr int depth = 1'000;
using steady = std::chrono::steady_clock;

// Another client of the server, which sends PING in a loop while it lives.
class bystander {
  public:
    explicit bystander(std::uint16_t port)
        : thread_([this, port](const std::stop_token& stop) {
              raw_connection c{port};
              while (!stop.stop_requested()) {
                  const auto from = steady::now();
                  c.add("PING");
                  (void)c.ask();
                  const auto took = steady::now() - from;
                  {
                      const std::lock_guard hold{mutex_};
                      took_.push_back(std::chrono::duration<double, std::micro>(took).count());
                  }
                  std::this_thread::sleep_for(100us);  // its pace, not a wait for an event
              }
          }) {}

    [[nodiscard]] double p99() {
        const std::lock_guard hold{mutex_};
        if (took_.empty()) return 0;
        const auto at = took_.begin() + static_cast<std::ptrdiff_t>(took_.size() * 99 / 100);
        std::nth_element(took_.begin(), at, took_.end());
        return *at;
    }

  private:
    std::mutex mutex_;
    std::vector<double> took_;
    std::jthread thread_;
};

struct many_held : row {
    explicit many_held(redis_server& on) : server(on), c({.url = on.url()}), raw(on.port()) {
        on_up = c.on_event([this](const event& e) {
            if (e.kind == event_kind::store_up) up_at = steady::now().time_since_epoch().count();
        });
        held.resize(held_locks);
        std::vector<std::jthread> crowd;
        for (int t = 0; t < 64; ++t) {
            crowd.emplace_back([this, t] {
                for (int i = t; i < held_locks; i += 64)
                    held[static_cast<std::size_t>(i)] = mutex{c, fmt::format("bench:held:{}", i)}.acquire();
            });
        }
        crowd.clear();
        for (int i = 0; i < held_locks; ++i) keys.push_back(fmt::format("bench:plain:{}", i));
        pipelined([&](const std::string& key) { raw.add("SET", key, "token"); });

        sides = {{"PEXPIRE pipeline, depth 1000",
                  [this](milliseconds) {
                      bystander other{server.port()};
                      const auto from = steady::now();
                      pipelined([&](const std::string& key) { raw.add("PEXPIRE", key, "30000"); });
                      return result(steady::now() - from, other);
                  }},
                 {"100,000 mutexes renewed", [this](milliseconds) { return renewed(); }}};
        using kind = target::kind;
        targets = {{"100,000 mutexes renewed", kind::ratio_at_most, 2},
                   {"100,000 mutexes renewed", kind::extra_at_most, 1'000, "PING p99 of another client, us"}};
    }

    static sample result(steady::duration took, bystander& other) {
        return {std::chrono::duration<double, std::milli>(took).count(),
                {{"PING p99 of another client, us", other.p99()}}};
    }

    template <class Add>
    void pipelined(Add&& add) {
        for (int i = 0; i < held_locks; i += depth) {
            for (int j = i; j < i + depth; ++j) add(keys[static_cast<std::size_t>(j)]);
            raw.send(raw.to_send);
            raw.to_send.clear();
            for (int j = 0; j < depth; ++j) (void)raw.read();
        }
    }

    sample renewed() {
        const auto before = c.stats();
        bystander other{server.port()};
        up_at = 0;
        // All renewals are due at once when the connection is back; the time counts from then.
        for (const auto& id : connections_of_the_library()) {
            raw.add("CLIENT", "KILL", "ID", id);
            (void)raw.ask();
        }
        const auto enough = before.renewals + held_locks;
        const auto late = steady::now() + 20s;
        while (c.stats().renewals < enough) {
            if (steady::now() > late) throw std::runtime_error("the locks were not renewed");
            std::this_thread::sleep_for(200us);
        }
        const auto end = steady::now();
        if (c.stats().lost != 0) throw std::runtime_error("a lock was lost");
        return result(end - steady::time_point{steady::duration{up_at.load()}}, other);
    }

    // Their ids; only these connections have a name.
    std::vector<std::string> connections_of_the_library() {
        raw.add("CLIENT", "LIST", "TYPE", "normal");
        const std::string list{raw.ask()};
        std::vector<std::string> ids;
        for (std::size_t at = 0; (at = list.find("id=", at)) != std::string::npos;) {
            const auto line = list.substr(at, list.find('\n', at) - at);
            if (line.find(" name=holdfast") != std::string::npos)
                ids.push_back(line.substr(3, line.find(' ') - 3));
            at += line.size();
        }
        return ids;
    }

    redis_server& server;
    client c;
    raw_connection raw;
    std::vector<std::string> keys;
    std::vector<lease> held;
    std::atomic<steady::rep> up_at{0};
    event_subscription on_up;
};

}  // namespace

std::unique_ptr<row> renewal(redis_server& server) { return std::make_unique<many_held>(server); }

}  // namespace holdfast::bench
