// A node over TLS: large values, full sockets, and which bytes count as sent when a connection ends.
#include "asking_node.hpp"

#include "io/tls.hpp"
#include "redis/config/url.hpp"

#include "support/certificates.hpp"
#include "support/wire.hpp"

#include <set>

namespace holdfast::redis {
namespace {

using test::eventually;
using test::redis_server;

struct tls_node : ::testing::Test {
    [[nodiscard]] static redis_server::options secured(const test::temp_dir& folder) {
        const test::certificate_authority ca{folder.path(), "ca"};
        redis_server::options o;
        o.secured = redis_server::tls{ca.issue("server", "IP:127.0.0.1"), ca.file()};
        return o;
    }
    [[nodiscard]] node_config config() const {
        return parse_url("rediss://127.0.0.1:" + std::to_string(between.port()) +
                         "?ca=" + (folder.path() / "ca.crt").string());
    }

    test::temp_dir folder;
    redis_server server{secured(folder)};
    test::wire between{server.tls_port()};
    io::reactor reactor;
};

TEST_F(tls_node, sends_and_receives_values_of_many_records) {
    node n{config(), reactor, {}};
    for (const std::size_t size : {16'383U, 16'384U, 16'385U, 3'000'000U}) {
        std::string value(size, 'x');
        value.back() = '!';
        EXPECT_EQ(ask(n, {"SET", "k", value})->text(), "OK");
        EXPECT_EQ(ask(n, {"GET", "k"})->text(), value);
        const auto for_reactor = send(n, {"GET", "k"});
        ASSERT_TRUE(eventually(test::patience, [&] { return for_reactor->here(); }));
        EXPECT_EQ(for_reactor->text(), value);
    }
}

TEST_F(tls_node, resumes_where_it_stopped_after_a_full_socket) {
    auto patient = config();
    patient.command_timeout = 10s;
    node n{patient, reactor, {}};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    between.hold_back(true);
    std::vector<answer_ptr> all;
    for (int i = 0; i < 200; ++i)
        all.push_back(send(n, {"RPUSH", "k", std::to_string(i) + ":" + std::string(100'000, 'x')}, 20s));
    between.hold_back(false);
    for (int i = 0; i < 200; ++i) {
        ASSERT_TRUE(eventually(test::patience, [&] { return all[static_cast<std::size_t>(i)]->here(); }));
        EXPECT_EQ(all[static_cast<std::size_t>(i)]->text(), std::to_string(i + 1));
    }
}

// Commands that the server has, or may have, are never sent again; the others are.
TEST_F(tls_node, sends_nothing_twice_when_connections_are_cut_with_a_full_socket) {
    node_events events;
    auto patient = config();
    patient.command_timeout = 20s;  // only cuts end connections here, not megabytes on a slow machine
    node n{patient, reactor, events.listener()};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    std::vector<answer_ptr> all;
    for (std::size_t round = 1; round <= 5; ++round) {
        // Sizes around that of a record, so that a cut finds records that carry parts of several commands.
        for (std::size_t i = 0; i < 300; ++i)
            all.push_back(send(
                n, {"RPUSH", "k", std::to_string(all.size()) + ":" + std::string(i * 97 + 1, 'x')}, 20s));
        between.hold_back(true);
        for (std::size_t i = 0; i < 500; ++i)
            all.push_back(send(
                n, {"RPUSH", "k", std::to_string(all.size()) + ":" + std::string(20'000 + i, 'x')}, 20s));
        between.cut_all();
        between.hold_back(false);
        ASSERT_TRUE(eventually(test::patience, [&] {
            return std::all_of(all.begin(), all.end(), [](const auto& a) { return a->here(); });
        }));
    }
    std::set<std::string> seen;
    const auto items = ask(n, {"LRANGE", "k", "0", "-1"}, 20s);
    ASSERT_NE(items->as_reply(), nullptr) << items->text();
    for (const auto& item : items->as_reply()->items()) {
        const auto id = item.text().substr(0, item.text().find(':'));
        EXPECT_TRUE(seen.insert(id).second) << id << " was executed twice";
    }
    std::size_t answered = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i]->times.load(), 1);
        if (all[i]->as_reply() == nullptr) continue;
        ++answered;
        EXPECT_TRUE(seen.contains(std::to_string(i)));
    }
    EXPECT_GT(answered, all.size() / 2);
}

}  // namespace
}  // namespace holdfast::redis
