// What a lock costs that goes on without its store: while the store is there, and while it is away.
#include "rows/pairs.hpp"
#include "rows/rows.hpp"
#include "support/eventually.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/holdfast.hpp>

#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto longest_wait = 60s;

config with_url(std::string url) {
    config how;
    how.url = std::move(url);
    return how;
}

config with_policy(const std::string& url, on_outage outage) {
    auto how = with_url(url);
    how.policies = {{.name = "bench", .match = "*", .outage = outage}};
    return how;
}

// Throws if nobody gets it for long.
void wait_for(mutex& lock) {
    const auto end = steady::now() + longest_wait;
    for (std::error_code ec; !lock.try_acquire_for(1s, ec);)
        if (steady::now() > end) throw std::runtime_error("the lock is not granted: " + ec.message());
}

// The mode lease is extended beside the requests.
struct joint_pair : row {
    explicit joint_pair(redis_server& server)
        : plain(with_url(server.url())),
          both(with_url("joint:mode_lease=5s," + server.url() +
                        "?longest_lease=2s,sqlite:" + (folder.path() / "locks").string())),
          in_redis(plain, "bench:plain"),
          in_both(both, "bench:joint", {.ttl = 2s}) {
        wait_for(in_both);
        sides = {subject("mutex in Redis", in_redis), subject("joint, in Redis", in_both)};
        targets = {{"joint, in Redis", target::kind::ratio_at_most, 1.05}};
    }

    const test::temp_dir folder;
    client plain;
    client both;
    mutex in_redis;
    mutex in_both;
};

// Redis is gone, and the breaker is open.
struct without_redis : row {
    explicit without_redis(redis_server& server)
        : of_process(with_policy(server.url(), on_outage::fail_open_process)),
          of_host(with_policy(server.url(), on_outage::fail_open_host)),
          in_process(of_process, "bench:process"),
          on_host(of_host, "bench:host") {
        server.stop();
        for (auto* const one : {&in_process, &on_host}) open_breaker(*one);
        sides = {{"std::mutex",
                  [this](milliseconds span) {
                      return timed(span, [this] {
                          bare.lock();
                          bare.unlock();
                      });
                  }},
                 with_time(subject("fail_open_process", in_process)),
                 with_time(subject("fail_open_host", on_host))};
        targets = {{"fail_open_process", target::kind::extra_at_most, 5, "us a pair"}};
    }

    // Until the store is not asked any more.
    static void open_breaker(mutex& lock) {
        for (auto took = steady::duration::max(); took > 1ms;) {
            const auto from = steady::now();
            wait_for(lock);
            took = steady::now() - from;
        }
    }
    static side with_time(side of) {
        return {of.name, [run = std::move(of.run)](milliseconds span) {
                    auto got = run(span);
                    got.extras["us a pair"] = got.value;
                    return got;
                }};
    }

    client of_process;
    client of_host;
    mutex in_process;
    mutex on_host;
    std::mutex bare;
};

// From the death of Redis to the first grant, in ms.
struct first_grant : row {
    explicit first_grant(redis_server& of) : server(of) {
        sides = {
            {"fail_closed: refused", [this](milliseconds) { return refused_after(); }},
            {"fail_open_process",
             [this](milliseconds) {
                 return granted_after(with_policy(server.url(), on_outage::fail_open_process));
             }},
            {"fail_open_host",
             [this](milliseconds) {
                 return granted_after(with_policy(server.url(), on_outage::fail_open_host));
             }},
            {"joint, automatic, mode_lease=2s", [this](milliseconds) { return granted_after_change(); }}};
    }

    sample refused_after() {
        client c{with_url(server.url())};
        mutex lock{c, "bench:outage"};
        wait_for(lock);
        return died([&] {
            std::error_code ec;
            if (lock.try_acquire(ec) || !ec) throw std::runtime_error("granted without Redis");
        });
    }
    sample granted_after(const config& how) {
        client c{how};
        mutex lock{c, "bench:outage"};
        wait_for(lock);
        return died([&] { wait_for(lock); });
    }
    sample granted_after_change() {
        const test::temp_dir folder;
        client c{with_url("joint:mode_lease=2s,down_for=1s,healthy_for=1h," + server.url() +
                          "?longest_lease=2s,sqlite:" + (folder.path() / "locks").string())};
        mutex lock{c, "bench:outage", {.ttl = 2s}};
        wait_for(lock);
        (void)admin::set_automatic(c, true, {.reason = "bench"});
        const auto end = steady::now() + longest_wait;
        while (admin::mode(c).reports.empty())
            if (steady::now() > end) throw std::runtime_error("no client reports");
        return died([&] { wait_for(lock); });
    }
    template <class F>
    sample died(const F& f) {
        server.stop();
        const auto from = steady::now();
        f();
        const std::chrono::duration<double, std::milli> took = steady::now() - from;
        server.start();
        return {took.count(), {}};
    }

    redis_server& server;
};

}  // namespace

std::unique_ptr<row> joint(redis_server& server) { return std::make_unique<joint_pair>(server); }
std::unique_ptr<row> outage(redis_server& server) { return std::make_unique<without_redis>(server); }
std::unique_ptr<row> outage_begins(redis_server& server) { return std::make_unique<first_grant>(server); }

}  // namespace holdfast::bench
