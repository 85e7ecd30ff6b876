// holdfast beside the lock libraries of other languages: the same server, the same machine, the same number
// of threads or processes.
#include "rows/pairs.hpp"
#include "rows/rows.hpp"
#include "rows/turns.hpp"
#include "support/peer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <stdexcept>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace holdfast::bench {

namespace {

using test::peer;

// The wall clock, in ms: the clock that all languages share.
long wall_clock_ms() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<milliseconds>(now).count();
}

// How a library is started, and what it calls its lock.
struct library {
    const char* name;
    const char* kind;
    std::function<std::unique_ptr<peer>(const redis_server&)> start;
    milliseconds warm_up;  // until it is as fast as it gets: Java compiles what it has run for a while
};

library redisson(milliseconds watchdog = 30s) {
    return {"Redisson RLock", "recursive",
            [watchdog](const redis_server& on) {
                return test::start_redisson(on, test::newest_redisson, watchdog, test::java_for::measuring);
            },
            8s};
}

std::vector<library> libraries() {
    const auto poller = [](const char* name, const char* program, milliseconds warm_up) {
        return library{name, "lock",
                       [program](const redis_server& on) { return test::start_poller(on, program); },
                       warm_up};
    };
    return {redisson(), poller("redis-py Lock", "redis_py", 1s), poller("redsync Mutex", "redsync", 1s),
            poller("node-redlock", "node_redlock", 2s)};
}

// Some processes of one library.
class peer_group {
  public:
    peer_group(const library& of, const redis_server& server, int processes) : of_(of) {
        for (int i = 0; i < processes; ++i) all_.push_back(of.start(server));
    }
    // Every process does `verb` with this many threads for a span. Returns how often each did it.
    std::vector<std::uint64_t> work(const char* verb, const std::string& name, int threads,
                                    milliseconds span) {
        const long until = wall_clock_ms() + span.count();
        std::vector<peer::request> asked;
        for (auto& p : all_) asked.push_back(p->ask("main", verb, of_.kind, name, {threads, until}));
        std::vector<std::uint64_t> done;
        for (auto& a : asked) done.push_back(std::stoull(a.get()));
        return done;
    }

  private:
    library of_;
    std::vector<std::unique_ptr<peer>> all_;
};

double per_second(std::uint64_t n, milliseconds span) {
    return static_cast<double>(n) / std::chrono::duration<double>(span).count();
}

// Turns of a peer need more time than ours to be as exact: some of them poll.
constexpr milliseconds span_of(milliseconds asked) { return 4 * asked; }

side with_peer_span(side of) {
    of.run = [run = std::move(of.run)](milliseconds span) { return run(span_of(span)); };
    return of;
}

void expect_released(redis_server& server) {
    for (const auto& key : server.keys())
        if (key.starts_with("bench:") || key.starts_with("/"))
            throw std::runtime_error("still held after all have ended: " + key);
}

struct pairs_beside_peers : row {
    pairs_beside_peers(redis_server& on, int threads) : server(on), n(threads), c({.url = on.url()}) {
        for (const auto& l : libraries()) {
            groups.push_back(std::make_unique<peer_group>(l, server, 1));
            (void)groups.back()->work("pairs", "bench:peers", n, l.warm_up);
            sides.push_back({l.name, [this, all = groups.back().get()](milliseconds span) {
                                 const auto done = all->work("pairs", "bench:peers", n, span_of(span));
                                 expect_released(server);
                                 return sample{per_second(done[0], span_of(span)), {}};
                             }});
        }
        for (int i = 0; i < n; ++i) {
            natives.push_back(std::make_unique<mutex>(c, fmt::format("bench:ours:{}", i)));
            recursives.push_back(std::make_unique<recursive_mutex>(c, fmt::format("bench:again:{}", i)));
        }
        sides.push_back(ours("mutex", natives));
        sides.push_back(ours("recursive_mutex", recursives));
        targets = {{"mutex", target::kind::ratio_at_least, 2},
                   {"recursive_mutex", target::kind::ratio_at_least, 2}};
    }

    template <class Lock>
    side ours(const char* name, std::vector<std::unique_ptr<Lock>>& locks) {
        return {name, [this, &locks](milliseconds span) {
                    auto s = together(n, span_of(span), [&](int i) {
                        auto& lock = *locks[static_cast<std::size_t>(i)];
                        lock.lock();
                        lock.unlock();
                    });
                    s.extras.clear();
                    expect_released(server);
                    return s;
                }};
    }

    redis_server& server;
    int n;
    client c;
    std::vector<std::unique_ptr<mutex>> natives;
    std::vector<std::unique_ptr<recursive_mutex>> recursives;
    std::vector<std::unique_ptr<peer_group>> groups;
};

// A decimal number in a file that all processes can open by its path, and that only the lock guards.
class guarded_number {
  public:
    guarded_number() : guarded_number(::memfd_create("counter", 0)) {}
    explicit guarded_number(const std::string& path) : guarded_number(::open(path.c_str(), O_RDWR)) {}
    [[nodiscard]] std::string path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get()); }
    void set(std::uint64_t to) const {
        const auto text = std::to_string(to);
        if (::ftruncate(file_.get(), 0) != 0 ||
            ::pwrite(file_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
            throw std::runtime_error("the counter cannot be written");
    }
    [[nodiscard]] std::uint64_t get() const {
        std::array<char, 32> text{};
        const auto size = ::pread(file_.get(), text.data(), text.size(), 0);
        std::uint64_t n = 0;
        if (size <= 0 || std::from_chars(text.data(), text.data() + size, n).ec != std::errc{})
            throw std::runtime_error("the counter cannot be read");
        return n;
    }

  private:
    explicit guarded_number(int file) : file_(file) {
        if (file < 0) throw std::runtime_error("no counter");
    }

    test::unique_fd file_;
};

struct turns_beside_peers : row {
    turns_beside_peers(redis_server& on, int processes) : server(on) {
        for (const auto& l : libraries()) {
            groups.push_back(std::make_unique<peer_group>(l, server, processes));
            number.set(0);
            (void)groups.back()->work("turns", number.path(), 1, l.warm_up);
            sides.push_back({l.name, [this, all = groups.back().get()](milliseconds span) {
                                 return turns_of(*all, span_of(span));
                             }});
        }
        sides.push_back(ours<mutex>("mutex", processes));
        sides.push_back(ours<recursive_mutex>("recursive_mutex", processes));
        targets = {{"mutex", target::kind::ratio_at_least, 3},
                   {"recursive_mutex", target::kind::ratio_at_least, 1.5}};
    }

    sample turns_of(peer_group& all, milliseconds span) const {
        number.set(0);
        const auto done = all.work("turns", number.path(), 1, span);
        expect_released(server);
        std::uint64_t sum = 0;
        for (const auto n : done) sum += n;
        if (number.get() != sum)
            throw std::runtime_error(fmt::format("{} turns counted {}", sum, number.get()));
        const auto [least, most] = std::minmax_element(done.begin(), done.end());
        return {per_second(sum, span),
                {{"least / most of a process", static_cast<double>(*least) / static_cast<double>(*most)}}};
    }

    template <class Lock>
    side ours(const char* name, int processes) {
        auto all = with_peer_span(turns(
            name, server, processes, holdfast_process<Lock>({.url = server.url()}, 1, [path = number.path()] {
                // A process of a crew has no files but those it opens.
                static const guarded_number counter{path};
                counter.set(counter.get() + 1);
            })));
        all.run = [this, run = std::move(all.run)](milliseconds span) {
            number.set(0);
            auto s = run(span);
            const auto fairness = s.extras.at("least / most of a process");
            s.extras = {{"least / most of a process", fairness}};
            return s;
        };
        return all;
    }

    redis_server& server;
    guarded_number number;
    std::vector<std::unique_ptr<peer_group>> groups;
};

constexpr int many = 10'000;
// Short, so that a turn sees several renewals of each.
constexpr milliseconds watchdog = 3s;

struct renewal_beside_redisson : row {
    explicit renewal_beside_redisson(redis_server& on) : server(on), java(redisson(watchdog).start(on)) {
        sides = {{"Redisson RLock",
                  [this](milliseconds) {
                      java->tell("main", "hold", "recursive", "bench:java", {many});
                      auto s = server_time_of_renewals();
                      java->tell("main", "drop", "recursive", "bench:java", {many});
                      return s;
                  }},
                 ours<mutex>("mutex"),
                 ours<recursive_mutex>("recursive_mutex")};
        // "1.3x" of Redisson's speed is 1 / 1.3 of its time.
        targets = {{"mutex", target::kind::ratio_at_most, 1 / 1.3},
                   {"recursive_mutex", target::kind::ratio_at_most, 1 / 1.3}};
    }

    template <class Lock>
    side ours(const char* name) {
        return {name, [this](milliseconds) {
                    client c{{.url = server.url(), .lease = watchdog}};
                    std::vector<lease> held;
                    for (int i = 0; i < many; ++i)
                        held.push_back(Lock{c, fmt::format("bench:ours:{}", i)}.acquire());
                    auto s = server_time_of_renewals();
                    if (c.stats().lost != 0) throw std::runtime_error("a lock was lost");
                    return s;
                }};
    }

    // Per renewal, while each lock is renewed three times.
    sample server_time_of_renewals() {
        const auto before = spent();
        const auto late = steady::now() + 30s;
        for (;;) {
            const auto now = spent();
            const auto renewed = now.renewals - before.renewals;
            if (renewed >= 3 * many) {
                if (static_cast<int>(server.keys().size()) < many)
                    throw std::runtime_error("a lock was lost");
                return {(now.cpu_us - before.cpu_us) / renewed, {}};
            }
            if (steady::now() > late) throw std::runtime_error("the locks are not renewed");
            std::this_thread::sleep_for(500ms);  // seldom, since asking costs the server time too
        }
    }

    struct expense {
        double cpu_us;
        double renewals;  // PEXPIRE and PEXPIREAT, mostly in scripts
    };
    expense spent() {
        const auto cpu = server.command({"INFO", "cpu"}).text;
        const auto calls = server.command({"INFO", "commandstats"}).text;
        return {
            1e6 * (number_after(cpu, "used_cpu_user_main_thread:") +
                   number_after(cpu, "used_cpu_sys_main_thread:")),
            number_after(calls, "cmdstat_pexpire:calls=") + number_after(calls, "cmdstat_pexpireat:calls=")};
    }
    static double number_after(const std::string& text, std::string_view what) {
        const auto at = text.find(what);
        return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + what.size(), nullptr);
    }

    redis_server& server;
    std::unique_ptr<peer> java;
};

}  // namespace

std::unique_ptr<row> peers_pairs(redis_server& server, int threads) {
    return std::make_unique<pairs_beside_peers>(server, threads);
}
std::unique_ptr<row> peers_turns(redis_server& server, int processes) {
    return std::make_unique<turns_beside_peers>(server, processes);
}
std::unique_ptr<row> peers_renewal(redis_server& server) {
    return std::make_unique<renewal_beside_redisson>(server);
}

}  // namespace holdfast::bench
