#include "network/scene.hpp"

#include <condition_variable>
#include <mutex>

namespace holdfast::test {

namespace {

std::string now_in_words() { return std::to_string(boot_clock::now().time_since_epoch().count()); }

void until_lost(lease& held) {
    std::mutex mutex;
    std::condition_variable changed;
    bool lost = false;
    const std::stop_callback tell{held.lost(), [&] {
                                      const std::lock_guard hold{mutex};
                                      lost = true;
                                      changed.notify_all();
                                  }};
    std::unique_lock hold{mutex};
    changed.wait(hold, [&] { return lost; });
}

// A try to connect that began while the cable was out may end a moment after it is back.
lease acquired(mutex& stock) {
    for (;;) {
        try {
            return stock.acquire();
        } catch (const error& e) {
            if (e.code() != condition::try_later) throw;
        }
    }
}

std::string what_came_of_it(const lease& held, const std::error_code& ec) {
    if (held) return "got";
    if (ec == errc::unavailable) return "unavailable";
    return ec ? ec.message() : "no";
}

// Does what it is told, until it is told something else.
int client_machine(const parent_link& parent, const config& how) {
    client c{how};
    mutex stock{c, "stock"};
    lease held;
    for (;;) {
        const auto line = parent.await_line();
        if (line == "acquire") {
            held = acquired(stock);
            parent.report("got " + now_in_words());
        } else if (line == "try") {
            std::error_code ec;
            parent.report("asked " + now_in_words());
            held = stock.try_acquire(ec);
            parent.report(what_came_of_it(held, ec) + " " + now_in_words());
        } else if (line == "lose") {
            until_lost(held);
            const auto lost = now_in_words();
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

redis_server::options machines_with_clients::for_all() {
    redis_server::options o;
    o.config = {"bind 0.0.0.0", "protected-mode no"};
    return o;
}

std::string machines_with_clients::url_of(const std::string& address, std::uint16_t port) {
    const auto ms = std::to_string(silence.count()) + "ms";
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
        how.answer_timeout = silence;
        how.patience = patience;
        return client_machine(parent, how);
    };
    return machine{body, cables};
}

std::int64_t machines_with_clients::number_said(machine& m, const std::string& word, milliseconds within) {
    auto& p = m.process();
    const bool there = p.wait_for_output(word + " ", within) && p.wait_for_output("\n", patience);
    EXPECT_TRUE(there) << "not \"" << word << "\" but: " << p.output() << p.errors();
    if (!there) return 0;
    const auto& all = p.output();
    return std::stoll(all.substr(all.rfind(word + " ") + word.size() + 1));
}

bool machines_with_clients::believes(machine& m) {
    tell(m, "look");
    EXPECT_TRUE(says(m, "valid"));
    return !m.process().output().ends_with("not valid\n");
}

void one_server::SetUp() {
    machines_with_clients::SetUp();
    if (!IsSkipped()) server_.emplace(for_all());
}

machine one_server::client_on_a_machine(milliseconds lease) const {
    return machines_with_clients::client_on_a_machine(
        [port = server_->port()](const addresses& a) { return url_of(a.at(0), port); }, lease);
}

void one_server::await_in_line(std::int64_t n) {
    ASSERT_TRUE(eventually(patience, [&] {
        return server().command({"ZCARD", "holdfast:q1:{stock}"}).number == n;
    }));
}

moment one_server::kept_until() {
    return boot_clock::now() + milliseconds{server().command({"PTTL", "stock"}).number};
}

}  // namespace holdfast::test
