// redis+sentinel://: which sentinels are asked and believed, and the error when that fails. All servers stay
// up here; for failovers see sentinel_failover_test.cpp.
#include "server/cli_scene.hpp"
#include "server/scene.hpp"
#include "support/certificates.hpp"
#include "support/loopback.hpp"
#include "support/sentinel_scene.hpp"
#include "support/wire.hpp"

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

// The reason is known an eighth of this before the caller gives up, which a busy machine may need.
config patient(const std::string& url) {
    auto c = settings(url);
    c.answer_timeout = 4s;
    return c;
}

complaint complaint_of(const std::string& url) { return first_complaint(patient(url)); }

void expect_complaint(const std::string& url, errc code, std::string_view says) {
    const auto c = complaint_of(url);
    EXPECT_EQ(c.code, code) << c.text;
    EXPECT_NE(c.text.find(says), std::string::npos) << c.text;
    for (const auto* const secret : {sentinel_scene::password, sentinel_scene::sentinel_password})
        EXPECT_EQ(c.text.find(secret), std::string::npos) << c.text;
}

std::string with(std::string text, const std::string& old, const std::string& now) {
    return text.replace(text.find(old), old.size(), now);
}

class sentinel_lookup : public testing::Test {
  protected:
    static void SetUpTestSuite() { shared_ = std::make_unique<sentinel_scene>(); }
    static void TearDownTestSuite() { shared_.reset(); }

    sentinel_scene& scene = *shared_;
    std::vector<std::uint16_t> ports = scene.sentinel_ports();

  private:
    static inline std::unique_ptr<sentinel_scene> shared_;
};

TEST_F(sentinel_lookup, master_is_found_and_serves_locks) {
    client c{scene.url()};
    client other{scene.url()};
    const event_recorder events{c};
    mutex lock{c, "job"};
    mutex others{other, "job"};
    auto held = lock.acquire();
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(exists(scene.master(), "job"));
    auto waiter = waiter_for(others);
    ASSERT_TRUE(waits<plain>(scene.master(), "job"));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_TRUE(events.has(event_kind::store_up));
    EXPECT_EQ(events.count(event_kind::failed_over), 0U);
    EXPECT_EQ(events.count(event_kind::no_channel_right), 0U);
}

TEST_F(sentinel_lookup, wrong_credentials_are_reported_at_once_with_their_server) {
    const auto url = scene.url();
    expect_complaint(with(url, sentinel_scene::password, "wrong"), errc::no_permission,
                     scene.address(scene.master_index()) + " refused the user or the password");
    expect_complaint(
        with(url, std::string{"="} + sentinel_scene::sentinel_password, "=wrong"), errc::no_permission,
        "127.0.0.1:" + std::to_string(ports[0]) + " refuses us (127.0.0.1:" + std::to_string(ports[0]) +
            " refused the user or the password");
    expect_complaint(url.substr(0, url.find('?')), errc::no_permission, "wants a password");
}

TEST_F(sentinel_lookup, unknown_master_name_is_reported_at_once) {
    expect_complaint(with(scene.url(), std::string{"/"} + sentinel_scene::name, "/nobody"),
                     errc::invalid_argument, "does not know the name");
}

TEST(server_that_is_no_sentinel, is_reported_at_once_with_the_right_url) {
    redis_server alone;
    const auto address = "127.0.0.1:" + std::to_string(alone.port());
    const auto url = "redis+sentinel://" + address + "/m";
    expect_complaint(url, errc::invalid_argument,
                     address + " is no Sentinel; if it keeps the locks itself write redis://" + address +
                         ", or redis+cluster://" + address);
    auto run = cli::start_command({"run", "-n", "nightly", "--", "true"}, {{"HOLDFAST_URL", url}});
    EXPECT_EQ(cli::outcome_of(run).code, 64);
}

TEST_F(sentinel_lookup, majority_of_all_listed_sentinels_must_answer) {
    // Bound, so that no other process takes it, and not listening.
    const auto first = bound_socket(0);
    const auto second = bound_socket(0);
    const auto one = complaint_of(sentinel_scene::url_of({ports[0], port_of(first), port_of(second)}));
    EXPECT_EQ(one.code, errc::unavailable);
    EXPECT_NE(one.text.find("2 of 3 sentinels must name the master \"the-master\" and 1 does"),
              std::string::npos)
        << one.text;
    EXPECT_NE(
        one.text.find("127.0.0.1:" + std::to_string(port_of(second)) + " is silent (connection refused"),
        std::string::npos)
        << one.text;
    EXPECT_LT(one.took, 4s + slack);

    client two{sentinel_scene::url_of({port_of(first), ports[0], ports[1]})};
    EXPECT_TRUE(mutex(two, "job").try_acquire().valid());
}

TEST_F(sentinel_lookup, hanging_sentinel_does_not_delay_the_client) {
    wire hangs{ports[0]};
    hangs.stall(true);
    const stopwatch watch;
    client c{sentinel_scene::url_of({hangs.port(), ports[1], ports[2]})};
    EXPECT_TRUE(mutex(c, "job").try_acquire().valid());
    EXPECT_LT(watch.took(), 100ms + slack);
}

TEST_F(sentinel_lookup, locks_go_on_without_sentinels_but_no_new_connection_is_made) {
    std::vector<std::unique_ptr<wire>> wires;
    for (const auto port : ports) wires.push_back(std::make_unique<wire>(port));
    const auto all = [&](auto what) {
        for (const auto& w : wires) what(*w);
    };
    client c{patient(sentinel_scene::url_of({wires[0]->port(), wires[1]->port(), wires[2]->port()}))};
    const event_recorder events{c};
    mutex lock{c, "job"};
    EXPECT_TRUE(lock.try_acquire().release());
    all([](wire& w) { w.stall(true); });
    all([](wire& w) { w.cut_all(); });
    EXPECT_TRUE(lock.try_acquire().release()) << "sentinels are no part of a lock's path";
    scene.master().command({"CLIENT", "KILL", "TYPE", "normal"});
    ASSERT_TRUE(events.has(event_kind::store_down));
    EXPECT_EQ(code_of([&] { (void)lock.try_acquire(); }), errc::unavailable)
        << "it may no longer be the master";
    all([](wire& w) { w.stall(false); });
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code ec;
        return lock.try_acquire(ec).valid();
    }));
}

TEST_F(sentinel_lookup, command_line_finds_the_master_too) {
    const child_process::environment where{{"HOLDFAST_URL", scene.url()}};
    auto run =
        cli::start_command({"run", "nightly", "--", "sh", "-c", "echo held; read line; exit 0"}, where);
    ASSERT_TRUE(run.wait_for_output("held", patience));
    auto ls = cli::start_command({"ls"}, where);
    EXPECT_NE(cli::outcome_of(ls).output.find("nightly"), std::string::npos);
    auto inspect = cli::start_command({"inspect", "nightly"}, where);
    const auto shown = cli::outcome_of(inspect);
    EXPECT_EQ(shown.code, 0) << shown.errors;
    EXPECT_NE(shown.output.find("mutex"), std::string::npos) << shown.output;
    EXPECT_EQ(cli::outcome_of(run).code, 0);
    // A release without an answer in time is carried out a little later.
    EXPECT_TRUE(eventually(patience, [&] { return !exists(scene.master(), "nightly"); }));
}

// Each host has its own certificate.
TEST(sentinels_over_tls, are_asked_over_tls_and_so_is_the_master) {
    const temp_dir folder;
    const certificate_authority ca{folder.path(), "ca"};
    const certificate_authority other{folder.path(), "other"};
    redis_server::options master_options;
    master_options.secured = redis_server::tls{ca.issue("master", "IP:127.0.0.1"), ca.file()};
    redis_server master{master_options};
    wire to_master{master.tls_port()};
    redis_server::options options;
    options.sentinel = true;
    options.secured = redis_server::tls{ca.issue("sentinel", "DNS:localhost"), ca.file()};
    options.config = {"tls-replication yes",
                      "sentinel monitor m 127.0.0.1 " + std::to_string(to_master.port()) + " 1"};
    redis_server sentinel{options};
    wire to_sentinel{sentinel.tls_port()};
    const auto url = [&](const std::string& host, const std::string& ca_file) {
        return "rediss+sentinel://" + host + ":" + std::to_string(to_sentinel.port()) + "/m?ca=" + ca_file;
    };
    {
        client c{url("localhost", ca.file())};
        EXPECT_TRUE(mutex(c, "job").try_acquire().valid());
    }
    expect_complaint(url("127.0.0.1", ca.file()), errc::invalid_argument,
                     "refuses us (the certificate of 127.0.0.1");
    expect_complaint(url("localhost", other.file()), errc::invalid_argument,
                     "refuses us (the certificate of localhost");
    // Nothing was sent in plain text.
    for (const auto* w : {&to_master, &to_sentinel}) {
        for (const auto& bytes : w->sent()) EXPECT_TRUE(bytes.empty() || bytes[0] == 0x16);
    }
}

}  // namespace
}  // namespace holdfast::test
