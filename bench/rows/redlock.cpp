// A lock on five servers: what the library adds to one request to all five at once.
#include "raw.hpp"
#include "rows/pairs.hpp"
#include "rows/rows.hpp"

#include <holdfast/holdfast.hpp>

#include <array>
#include <string>

namespace holdfast::bench {

namespace {

// The median time of `part`, in us; `rest` follows each time and is not measured.
template <class Part, class Rest>
sample timed_part(milliseconds span, Part&& part, Rest&& rest) {
    std::vector<double> took;
    took.reserve(100'000);
    const auto end = steady::now() + span;
    for (auto from = steady::now(); from < end; from = steady::now()) {
        part();
        took.push_back(std::chrono::duration<double, std::micro>(steady::now() - from).count());
        rest();
    }
    const auto middle = took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2);
    std::nth_element(took.begin(), middle, took.end());
    return {*middle, {}};
}

struct on_five : row {
    explicit on_five(redis_server& first)
        : c({.url = url(first)}), plain(c, "bench:plain"), fenced(c, "bench:fenced", {.fenced = true}) {
        pings.emplace_back(first.port());
        for (auto& s : others) {
            // Like the first, away from our CPU; else the time would count how often a server takes it.
            place(placement::split, s.pid());
            pings.emplace_back(s.port());
        }
        sides = {
            {"PING to all five, and five replies",
             [this](milliseconds span) {
                 return timed_part(
                     span, [this] { ping_all(); }, [this] { ping_all(); });
             }},
            // Three replies grant a lock, so this is the stricter floor.
            {"PING to all five, and three replies",
             [this](milliseconds span) {
                 return timed_part(
                     span,
                     [this] {
                         send_all();
                         read(0, majority);
                     },
                     [this] {
                         read(majority, pings.size());
                         ping_all();
                     });
             }},
            acquiring("acquire", plain),
            acquiring("acquire, fenced (asks twice)", fenced),
        };
        targets = {{"acquire", target::kind::ratio_at_most, 1.3}};
    }

    [[nodiscard]] std::string url(const redis_server& first) const {
        std::vector<std::string> all{first.url()};
        for (const auto& s : others) all.push_back(s.url());
        return redlock_url(all, {.node_timeout = 2s, .restarts = redlock_options::restarts::trusted});
    }

    static side acquiring(const char* name, mutex& m) {
        return {name, [&m](milliseconds span) {
                    lease held;
                    return timed_part(
                        span, [&] { held = m.acquire(); },
                        [&] {
                            if (held.release() != release_outcome::released)
                                throw std::runtime_error("the lock was not held");
                        });
                }};
    }

    void ping_all() {
        send_all();
        read(0, pings.size());
    }
    void send_all() {
        for (auto& p : pings) p.send("*1\r\n$4\r\nPING\r\n");
    }
    void read(std::size_t from, std::size_t to) {
        for (auto i = from; i < to; ++i) {
            if (pings[i].read() != "+PONG\r\n") throw std::runtime_error("no PONG");
        }
    }

    static constexpr std::size_t majority = 3;

    std::array<redis_server, 4> others;
    client c;
    mutex plain;
    mutex fenced;
    std::vector<raw_connection> pings;
};

}  // namespace

std::unique_ptr<row> redlock(redis_server& server) { return std::make_unique<on_five>(server); }

}  // namespace holdfast::bench
