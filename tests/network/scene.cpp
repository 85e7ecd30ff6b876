#include "network/scene.hpp"

#include <condition_variable>
#include <mutex>

namespace holdfast::test {

namespace {

std::string now_as_text() { return std::to_string(boot_clock::now().time_since_epoch().count()); }

void wait_until_lost(lease& held) {
    std::mutex mutex;
    std::condition_variable changed;
    bool lost = false;
    const std::stop_callback callback{held.lost_token(), [&] {
                                          const std::lock_guard hold{mutex};
                                          lost = true;
                                          changed.notify_all();
                                      }};
    std::unique_lock hold{mutex};
    changed.wait(hold, [&] { return lost; });
}

// A connection attempt that began while the cable was out may fail a moment after it is back.
lease acquired(mutex& stock) {
    for (;;) {
        try {
            return stock.acquire();
        } catch (const error& e) {
            if (e.code() != condition::try_later) throw;
        }
    }
}

std::string outcome_of(const lease& held, const std::error_code& ec) {
    if (held) return "got";
    if (ec == errc::unavailable) return "unavailable";
    return ec ? ec.message() : "no";
}

// Carries out commands until it receives an unknown one.
int client_machine(const parent_link& parent, const config& how) {
    client c{how};
    mutex stock{c, "stock"};
    lease held;
    for (;;) {
        const auto line = parent.await_line();
        if (line == "acquire") {
            held = acquired(stock);
            parent.report("got " + now_as_text());
        } else if (line == "try") {
            std::error_code ec;
            parent.report("asked " + now_as_text());
            held = stock.try_acquire(ec);
            parent.report(outcome_of(held, ec) + " " + now_as_text());
        } else if (line == "lose") {
            wait_until_lost(held);
            const auto lost = now_as_text();
            parent.report("deadline " + std::to_string(held.deadline().time_since_epoch().count()));
            parent.report("lost " + lost);
        } else if (line == "look") {
            parent.report(held.valid() ? "valid" : "not valid");
        } else if (line == "renewals") {
            parent.report("renewed " + std::to_string(c.stats().renewals));
        } else if (line == "release") {
            parent.report(held.release() == release_outcome::released ? "released" : "not released");
        } else {
            return 0;
        }
    }
}

}  // namespace

void machines_with_clients::SetUp() {
    static const std::string why_not = move_to_own_network();
    if (!why_not.empty()) GTEST_SKIP() << "not possible here, and not tested: " << why_not;
}

redis_server::options machines_with_clients::reachable_options() {
    redis_server::options o;
    o.config = {"bind 0.0.0.0", "protected-mode no"};
    return o;
}

std::string machines_with_clients::url_of(const std::string& address, std::uint16_t port) {
    const auto ms = std::to_string(reply_timeout.count()) + "ms";
    return "redis://" + address + ":" + std::to_string(port) + "?connect_timeout=" + ms +
           "&command_timeout=" + ms;
}

machine machines_with_clients::client_on_a_machine(const std::function<std::string(const addresses&)>& url,
                                                   milliseconds lease, std::size_t cables) {
    const auto body = [&](const parent_link& parent, const addresses& servers) {
        config how;
        how.url = url(servers);
        how.lease = lease;
        how.poll_gap = poll_gap;
        how.answer_timeout = reply_timeout;
        how.patience = patience;
        return client_machine(parent, how);
    };
    return machine{body, cables};
}

std::int64_t machines_with_clients::number_after(machine& m, const std::string& word, milliseconds within) {
    auto& p = m.process();
    const bool there = p.wait_for_output(word + " ", within) && p.wait_for_output("\n", patience);
    EXPECT_TRUE(there) << "not \"" << word << "\" but: " << p.output() << p.errors();
    if (!there) return 0;
    const auto& all = p.output();
    return std::stoll(all.substr(all.rfind(word + " ") + word.size() + 1));
}

bool machines_with_clients::lease_is_valid(machine& m) {
    send_line(m, "look");
    EXPECT_TRUE(reports(m, "valid"));
    return !m.process().output().ends_with("not valid\n");
}

void one_server::SetUp() {
    machines_with_clients::SetUp();
    if (!IsSkipped()) server_.emplace(reachable_options());
}

machine one_server::client_on_a_machine(milliseconds lease) const {
    return machines_with_clients::client_on_a_machine(
        [port = server_->port()](const addresses& a) { return url_of(a.at(0), port); }, lease);
}

void one_server::await_waiters(std::int64_t n) {
    ASSERT_TRUE(eventually(patience, [&] {
        return server().command({"ZCARD", "holdfast:q1:{stock}"}).number == n;
    }));
}

moment one_server::key_expiry() {
    return boot_clock::now() + milliseconds{server().command({"PTTL", "stock"}).number};
}

}  // namespace holdfast::test
