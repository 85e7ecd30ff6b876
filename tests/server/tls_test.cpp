// Locks over rediss:// work as without TLS, and no command goes to a server with the wrong identity.
#include "server/cli_scene.hpp"
#include "server/scene.hpp"
#include "support/certificates.hpp"
#include "support/forked.hpp"
#include "support/loopback.hpp"
#include "support/wire.hpp"

#include <holdfast/admin.hpp>

#include <array>
#include <atomic>
#include <filesystem>

#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::test {
namespace {

using requires_certificates = redis_server::client_certificates;
constexpr auto here = "DNS:localhost,IP:127.0.0.1";

// The certificates of servers and clients in these tests.
struct certificates {
    temp_dir folder;
    certificate_authority ca{folder.path(), "ca"};
    certificate_authority other{folder.path(), "other"};
};

redis_server::options with(const certificates& p, const certificate& own,
                           requires_certificates wanted = requires_certificates::unwanted,
                           std::vector<std::string> more = {}) {
    redis_server::options o;
    o.secured = redis_server::tls{own, p.ca.file(), wanted};
    o.config = std::move(more);
    return o;
}

std::string rediss(std::uint16_t port, const std::string& options, const std::string& host = "127.0.0.1") {
    return "rediss://" + host + ":" + std::to_string(port) + "?connect_timeout=2s&" + options;
}

struct secured_server {
    certificates certs;
    certificate own = certs.ca.issue("server", here);
    redis_server server{with(certs, own)};
    wire between{server.tls_port()};

    [[nodiscard]] std::string ca() const { return "ca=" + certs.ca.file(); }
    [[nodiscard]] std::string url() const { return rediss(between.port(), ca()); }
};

// Each connection began with a ClientHello, and consists of TLS records up to what was cut off.
void expect_only_tls(const wire& w) {
    for (const auto& bytes : w.sent()) {
        for (std::size_t at = 0; at + 5 <= bytes.size();) {
            const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
            ASSERT_TRUE(byte(0) >= 20 && byte(0) <= 23 && byte(1) == 3)
                << "at " << at << " of " << bytes.size();
            ASSERT_TRUE(at != 0 || byte(0) == 0x16);
            at += 5U + byte(3) * 256U + byte(4);
        }
    }
}

void expect_refusal(const std::string& url, errc code, std::string_view says) {
    const auto r = first_complaint(settings(url));
    EXPECT_EQ(r.code, code) << r.text;
    EXPECT_NE(r.text.find(says), std::string::npos) << r.text;
    EXPECT_LT(r.took, given_up()) << r.text;
}

bool works(const std::string& url) {
    client c{settings(url)};
    mutex lock{c, "job"};
    if (!lock.try_lock()) return false;
    lock.unlock();
    return true;
}

// --- what works without TLS --------------------------------------------------------------------------

template <class Kind>
class over_tls : public ::testing::Test, protected secured_server {};
using kinds = ::testing::Types<plain, recursive>;
TYPED_TEST_SUITE(over_tls, kinds, kind_names);

TYPED_TEST(over_tls, lock_excludes_others_and_is_handed_off) {
    client a{settings(this->url())};
    client b{settings(this->url())};
    auto mine = TypeParam::make(a, "job");
    auto others = TypeParam::make(b, "job");
    lease held = mine.acquire();
    EXPECT_FALSE(others.try_lock());
    auto waiter = waiter_for(others);
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    EXPECT_EQ(held.release(), release_outcome::released);
    auto got = waiter.get();
    EXPECT_TRUE(got.valid());
    EXPECT_EQ(got.release(), release_outcome::released);
    EXPECT_FALSE(exists(this->server, "job"));
    expect_only_tls(this->between);
}

TYPED_TEST(over_tls, lock_is_renewed_past_its_lease) {
    client a{settings(this->url(), 1s * slower)};
    auto lock = TypeParam::make(a, "job");
    lease held = lock.acquire();
    ASSERT_TRUE(eventually(patience, [&] { return a.stats().renewals >= 4; }));
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::released);
}

TYPED_TEST(over_tls, threads_of_one_connection_exclude_each_other) {
    client a{settings(this->url())};
    client b{settings(this->url())};
    int unguarded = 0;
    std::atomic<int> counted{0};
    std::vector<std::future<void>> work;
    for (int t = 0; t < 8; ++t) {
        work.push_back(in_background([&, t] {
            auto shared = TypeParam::make(a, "job");
            auto quiet = TypeParam::make(a, "own:" + std::to_string(t));
            auto from_elsewhere = TypeParam::make(b, "job");
            for (int n = 0; n < 200 / slower; ++n) {
                // Locks of their own keep the connection busy with many commands at a time.
                quiet.lock();
                quiet.unlock();
                auto& lock = n % 10 == 0 ? from_elsewhere : shared;
                lock.lock();
                ++unguarded;
                lock.unlock();
                ++counted;
            }
        }));
    }
    for (auto& w : work) w.get();
    EXPECT_EQ(unguarded, counted.load());
    EXPECT_EQ(a.stats().lost + b.stats().lost, 0U);
    expect_only_tls(this->between);
}

TYPED_TEST(over_tls, connections_may_be_cut_while_holding_and_waiting) {
    client a{settings(this->url())};
    client b{settings(this->url())};
    auto mine = TypeParam::make(a, "job");
    auto others = TypeParam::make(b, "job");
    lease held = mine.acquire();
    auto waiter = waiter_for(others);
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    // First in the middle of a record of the server, then everything at once.
    this->between.cut_after(7);
    EXPECT_FALSE(others.try_lock());
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    event_recorder events{a};
    this->between.cut_all();
    EXPECT_TRUE(events.has(event_kind::store_up));
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::released);
    auto got = waiter.get();
    EXPECT_TRUE(got.valid());
    expect_only_tls(this->between);
}

class tls : public ::testing::Test, protected secured_server {};

TEST_F(tls, list_that_fills_many_records_arrives) {
    client a{settings(url())};
    client b{settings(url())};
    std::vector<lease> held;
    const std::string long_name(900, 'n');
    for (int i = 0; i < 300; ++i) held.push_back(mutex{a, long_name + std::to_string(i)}.acquire());
    EXPECT_EQ(list(b).size(), 300U);
}

TEST_F(tls, forked_child_leaves_the_connection_as_it_is) {
    auto c = std::make_unique<client>(settings(url(), 4s));
    auto lock = std::make_unique<mutex>(*c, "job");
    lease held = lock->acquire();
    // From its first renewal on the client listens for messages, too.
    ASSERT_TRUE(eventually(patience, [&] { return c->stats().renewals >= 1 && between.sent().size() == 2; }));
    const auto sent_before = between.sent().size();
    const int wrong = in_forked_child([&] {
        const bool dead = !held.valid() && held.release() == release_outcome::already_lost;
        held = lease{};
        lock.reset();
        c.reset();
        return dead ? 0 : 1;
    });
    EXPECT_EQ(wrong, 0);
    const auto renewals = c->stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return c->stats().renewals >= renewals + 3; }));
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(between.sent().size(), sent_before) << "the client had to connect again";
}

// --- the server's identity ---------------------------------------------------------------------------

TEST_F(tls, host_of_the_url_is_checked_as_a_name_or_an_address) {
    EXPECT_TRUE(works(rediss(server.tls_port(), ca())));
    EXPECT_TRUE(works(rediss(server.tls_port(), ca(), "localhost")));
    EXPECT_TRUE(works(rediss(server.tls_port(), ca() + "&tls_min=1.3")));
}

TEST(tls_names, greeting_contains_a_server_name_but_no_address) {
    certificates p;
    const redis_server server{with(p, p.ca.issue("server", "DNS:redis.example,IP:127.0.0.1"))};
    const auto greeting = [&](const std::string& options) {
        wire between{server.tls_port()};
        EXPECT_TRUE(works(rediss(between.port(), "ca=" + p.ca.file() + options)));
        return between.sent().at(0);
    };
    EXPECT_NE(greeting("&server_name=redis.example").find("redis.example"), std::string::npos);
    EXPECT_EQ(greeting("").find("127.0.0.1"), std::string::npos);
}

struct bad_certificate {
    const char* name;
    std::string says;
    std::function<certificate(const certificates&)> make;
    std::string host = "127.0.0.1";
};
void PrintTo(const bad_certificate& c, std::ostream* out) { *out << c.name; }

class server_certificate : public ::testing::TestWithParam<bad_certificate> {};

TEST_P(server_certificate, that_is_bad_is_refused_before_any_command_is_sent) {
    certificates p;
    const redis_server server{with(p, GetParam().make(p))};
    const wire between{server.tls_port()};
    const auto where = GetParam().host + ":" + std::to_string(between.port());
    const auto url = rediss(between.port(), "ca=" + p.ca.file(), GetParam().host);
    expect_refusal(url, errc::invalid_argument,
                   "the certificate of " + where + " is not accepted: " + GetParam().says);
    EXPECT_EQ(first_complaint(settings(url)).code, condition::misuse);
    ASSERT_FALSE(between.sent().empty());
    expect_only_tls(between);
}

INSTANTIATE_TEST_SUITE_P(
    , server_certificate,
    ::testing::Values(bad_certificate{"expired", "certificate has expired",
                                      [](const certificates& p) {
                                          return p.ca.issue("old", here,
                                                            certificate_authority::validity::over);
                                      }},
                      bad_certificate{"of_another_address", "IP address mismatch",
                                      [](const certificates& p) {
                                          return p.ca.issue("else", "DNS:localhost,IP:127.0.0.2");
                                      }},
                      bad_certificate{
                          "of_another_host", "hostname mismatch",
                          [](const certificates& p) { return p.ca.issue("else", "DNS:redis.example"); },
                          "localhost"},
                      bad_certificate{"of_another_authority", "unable to get local issuer certificate",
                                      [](const certificates& p) { return p.other.issue("server", here); }},
                      bad_certificate{"of_its_own", "self-signed certificate",
                                      [](const certificates& p) {
                                          return certificate{p.other.file(), p.other.key_file()};
                                      }}),
    [](const auto& one) { return one.param.name; });

TEST_F(tls, files_that_have_changed_are_read_again_for_the_next_connection) {
    const auto file = certs.folder.path() / "authorities.pem";
    std::filesystem::copy_file(certs.other.file(), file);
    client c{settings(rediss(between.port(), "ca=" + file.string()))};
    mutex lock{c, "job"};
    EXPECT_EQ(code_of([&] { (void)lock.try_acquire(); }), errc::invalid_argument);
    std::filesystem::rename(certs.ca.file(), file);
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code ec;
        return lock.try_acquire(ec).valid();
    }));
}

TEST_F(tls, certificate_that_goes_bad_during_a_wait_ends_the_wait) {
    client a{settings(url())};
    client b{settings(url())};
    mutex mine{a, "job"};
    mutex others{b, "job"};
    lease held = mine.acquire();
    auto waiter = in_background([&] { return code_of([&] { (void)others.acquire(); }); });
    ASSERT_TRUE(waits<plain>(server, "job"));
    server.command(
        {"CONFIG", "SET", "tls-cert-file", certs.other.file(), "tls-key-file", certs.other.key_file()});
    between.cut_all();
    EXPECT_EQ(waiter.get(), errc::invalid_argument);
    expect_only_tls(between);
}

// --- the client's identity ---------------------------------------------------------------------------

class client_certificate : public ::testing::TestWithParam<const char*> {
  protected:
    certificates p;
    redis_server server{with(p, p.ca.issue("server", here), requires_certificates::required,
                             {std::string{"tls-protocols "} + GetParam()})};
    [[nodiscard]] std::string url(const certificate& c) const {
        return rediss(server.tls_port(), "ca=" + p.ca.file() + "&cert=" + c.cert + "&key=" + c.key);
    }
};
INSTANTIATE_TEST_SUITE_P(, client_certificate, ::testing::Values("TLSv1.2", "TLSv1.3"), [](const auto& one) {
    return std::string{one.param}.ends_with('2') ? "v1_2" : "v1_3";
});

TEST_P(client_certificate, that_is_required_and_given_is_accepted) {
    EXPECT_TRUE(works(url(p.ca.issue("client", "DNS:client"))));
}

TEST_P(client_certificate, that_is_required_and_missing_is_named_in_the_error) {
    expect_refusal(rediss(server.tls_port(), "ca=" + p.ca.file()), errc::no_permission,
                   "certificate from us");
}

TEST_P(client_certificate, that_the_server_does_not_know_is_named_in_the_error) {
    expect_refusal(url(p.other.issue("client", "DNS:client")), errc::no_permission,
                   "does not accept our certificate");
}

// --- versions, and no TLS ----------------------------------------------------------------------------

TEST(tls_versions, server_that_is_too_old_is_named_in_the_error) {
    certificates p;
    const redis_server server{
        with(p, p.ca.issue("server", here), requires_certificates::unwanted, {"tls-protocols TLSv1.2"})};
    const auto url = rediss(server.tls_port(), "ca=" + p.ca.file());
    EXPECT_TRUE(works(url));
    expect_refusal(url + "&tls_min=1.3", errc::invalid_argument,
                   "no version of TLS that is allowed here; at least 1.3");
}

// The server waits for the end of a line, and sees none in the greeting.
TEST_F(tls, redis_without_tls_is_named_and_receives_no_command) {
    const wire to_plaintext{server.port()};
    const auto url = rediss(to_plaintext.port(), ca() + "&name=told");
    expect_refusal(url, errc::unavailable, "does it speak TLS?");
    expect_refusal(url + "&connect_timeout=300ms", errc::unavailable, "does it speak TLS?");
    ASSERT_FALSE(to_plaintext.sent().empty());
    expect_only_tls(to_plaintext);
}

TEST_F(tls, server_that_answers_without_tls_is_named_in_the_error) {
    const auto listener = bound_socket(0);
    ::listen(listener.get(), 8);
    auto answering = in_background([&] {
        const unique_fd one{::accept(listener.get(), nullptr, nullptr)};
        (void)::send(one.get(), "-ERR unknown command\r\n", 22, MSG_NOSIGNAL);
        char byte = 0;
        while (::recv(one.get(), &byte, 1, 0) > 0) {
        }
    });
    expect_refusal(rediss(port_of(listener), ca()), errc::invalid_argument,
                   "does not speak TLS; is redis:// meant");
    ::shutdown(listener.get(), SHUT_RDWR);
}

TEST_F(tls, client_without_tls_learns_that_the_server_wants_it) {
    const auto r = first_complaint(settings("redis://127.0.0.1:" + std::to_string(server.tls_port())));
    EXPECT_NE(r.text.find("rediss:// is meant"), std::string::npos) << r.text;
    EXPECT_LT(r.took, given_up());
}

TEST_F(tls, silent_server_is_given_up_in_time) {
    between.hold_back(true);
    const auto r = first_complaint(settings(rediss(between.port(), ca() + "&connect_timeout=300ms")));
    EXPECT_EQ(r.code, errc::unavailable);
    EXPECT_LT(r.took, given_up());
}

// --- the command line --------------------------------------------------------------------------------

TEST_F(tls, command_line_lists_locks) {
    client a{settings(url())};
    lease held = mutex{a, "nightly"}.acquire();
    auto ls = cli::start_command({"ls"}, {{"HOLDFAST_URL", url()}});
    const auto done = cli::outcome_of(ls);
    EXPECT_EQ(done.code, 0) << done.errors;
    EXPECT_NE(done.output.find("nightly"), std::string::npos);
}

TEST_F(tls, system_certificates_are_used_when_no_authority_is_named) {
    const auto url = rediss(server.tls_port(), "");
    auto trusts = cli::start_command({"ls"}, {{"HOLDFAST_URL", url}, {"SSL_CERT_FILE", certs.ca.file()}});
    const auto yes = cli::outcome_of(trusts);
    EXPECT_EQ(yes.code, 0) << yes.errors;
    auto does_not = cli::start_command({"ls"}, {{"HOLDFAST_URL", url}});
    const auto no = cli::outcome_of(does_not);
    EXPECT_NE(no.code, 0);
    EXPECT_NE(no.errors.find("is not accepted: "), std::string::npos) << no.errors;
}

}  // namespace
}  // namespace holdfast::test
