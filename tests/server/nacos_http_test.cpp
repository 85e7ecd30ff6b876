// How requests to Nacos end: with an answer, or with the reason why there is none.
#include "nacos/http.hpp"

#include "fallback/nacos_source.hpp"
#include "io/reactor.hpp"
#include "support/background.hpp"
#include "support/certificates.hpp"
#include "support/eventually.hpp"
#include "support/loopback.hpp"
#include "support/sanitizers.hpp"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace holdfast::nacos {
namespace {

using namespace std::chrono_literals;
using test::bound_socket;
using test::in_background;
using test::patience;
using test::temp_dir;
using test::unique_fd;

std::string in_words(const reply& got) {
    if (const auto* const no = std::get_if<no_answer>(&got)) return no->why;
    return std::to_string(std::get<answer>(got).status) + ' ' + std::get<answer>(got).body;
}

// Sends bytes to its first client, and keeps the connection until it is destroyed.
class one_client {
  public:
    explicit one_client(std::string bytes) : bytes_(std::move(bytes)) {
        ::listen(listener_.get(), 1);
        thread_ = std::thread{[this] { serve(); }};
    }
    one_client(const one_client&) = delete;
    one_client& operator=(const one_client&) = delete;
    ~one_client() {
        ::shutdown(listener_.get(), SHUT_RDWR);
        thread_.join();
    }

    [[nodiscard]] std::string server() const { return "127.0.0.1:" + std::to_string(port_of(listener_)); }

  private:
    void serve() {
        const unique_fd client{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
        if (!client) return;
        std::array<char, 4096> asked;
        (void)::recv(client.get(), asked.data(), asked.size(), 0);
        (void)::send(client.get(), bytes_.data(), bytes_.size(), MSG_NOSIGNAL);
        if (ends_) return;
        while (::recv(client.get(), asked.data(), asked.size(), 0) > 0) {
        }
    }

    const std::string bytes_;
    const bool ends_ = bytes_.ends_with("end");
    const unique_fd listener_ = bound_socket(0);
    std::thread thread_;
};

class nacos_http : public ::testing::Test {
  protected:
    static address to(const std::string& server) {
        address a;
        a.servers = {server};
        return a;
    }
    static request asks(std::chrono::milliseconds limit = patience, std::size_t most = 100) {
        return {.target = "/", .time_limit = limit, .most = most};
    }
    static std::string answer_to(const std::string& bytes, const request& r = asks()) {
        one_client server{bytes};
        http h{to(server.server())};
        return in_words(h.ask(r));
    }
};

TEST_F(nacos_http, brings_the_answer) {
    one_client server{"HTTP/1.1 200 \r\ncontent-MD5: 0123\r\nContent-Length: 5\r\n\r\nhello"};
    http h{to(server.server())};
    const auto got = h.ask(asks());
    EXPECT_EQ(in_words(got), "200 hello");
    EXPECT_EQ(std::get<answer>(got).md5, "0123");
}

TEST_F(nacos_http, takes_no_part_of_an_answer_for_all_of_it) {
    EXPECT_EQ(answer_to("HTTP/1.1 200 \r\nContent-Length: 50\r\n\r\nthe end").substr(0, 3), "Tra");
}

TEST_F(nacos_http, ends_in_time_when_an_answer_stops_half_way) {
    EXPECT_EQ(answer_to("HTTP/1.1 200 \r\nContent-Length: 50\r\n\r\nhalf", asks(300ms)),
              "it does not answer in time");
}

TEST_F(nacos_http, reads_no_more_than_it_was_told) {
    EXPECT_EQ(answer_to("HTTP/1.1 200 \r\nContent-Length: 1000000\r\n\r\n" + std::string(200, 'x'),
                        asks(patience, 9)),
              "200 xxxxxxxxx");
}

TEST_F(nacos_http, says_that_nobody_listens) {
    const auto nobody = bound_socket(0);
    http h{to("127.0.0.1:" + std::to_string(port_of(nobody)))};
    EXPECT_EQ(in_words(h.ask(asks())), "Couldn't connect to server");
}

TEST_F(nacos_http, follows_no_redirection) {
    EXPECT_EQ(answer_to("HTTP/1.1 302 \r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
              "302 ");
}

TEST_F(nacos_http, stops_at_once) {
    one_client silent{""};
    http h{to(silent.server())};
    auto asking = in_background([&] { return in_words(h.ask(asks())); });
    const auto begun = std::chrono::steady_clock::now();
    h.stop();
    (void)asking.get();
    h.wait_until(boot_clock::now() + 1h);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 1s * test::slower);
}

// --- TLS -----------------------------------------------------------------------------------------------

// OpenSSL raises it at a connection that is closed.
void block_sigpipe() {
    sigset_t broken_pipe;
    ::sigemptyset(&broken_pipe);
    ::sigaddset(&broken_pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
}

// Answers each client once, whatever it asks, in TLS.
class tls_server {
  public:
    // How it leaves.
    enum class end { in_order, by_reset };

    explicit tls_server(const test::certificate& own, end how = end::in_order) : how_(how) {
        ::SSL_CTX_use_certificate_file(context_.get(), own.cert.c_str(), SSL_FILETYPE_PEM);
        ::SSL_CTX_use_PrivateKey_file(context_.get(), own.key.c_str(), SSL_FILETYPE_PEM);
        ::listen(listener_.get(), 8);
        thread_ = std::thread{[this] {
            block_sigpipe();
            for (;;) {
                const unique_fd client{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
                if (!client) return;
                serve(client.get());
                ++served_;
            }
        }};
    }
    tls_server(const tls_server&) = delete;
    tls_server& operator=(const tls_server&) = delete;
    ~tls_server() {
        ::shutdown(listener_.get(), SHUT_RDWR);
        thread_.join();
    }

    [[nodiscard]] std::string port() const { return std::to_string(port_of(listener_)); }
    [[nodiscard]] int served() const { return served_; }

  private:
    void serve(int client) const {
        const std::unique_ptr<SSL, decltype(&::SSL_free)> ssl{::SSL_new(context_.get()), ::SSL_free};
        ::SSL_set_fd(ssl.get(), client);
        std::array<char, 4096> asked;
        if (::SSL_accept(ssl.get()) <= 0 || ::SSL_read(ssl.get(), asked.data(), asked.size()) <= 0) return;
        const std::string text = "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello";
        (void)::SSL_write(ssl.get(), text.data(), static_cast<int>(text.size()));
        if (how_ == end::in_order) return (void)::SSL_shutdown(ssl.get());
        const linger none{1, 0};
        ::setsockopt(client, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    }

    const end how_;
    std::atomic<int> served_{0};
    const unique_fd listener_ = bound_socket(0);
    const std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_{::SSL_CTX_new(::TLS_server_method()),
                                                                       ::SSL_CTX_free};
    std::thread thread_;
};

TEST_F(nacos_http, believes_no_server_without_the_right_certificate) {
    const temp_dir folder;
    const test::certificate_authority ours{folder.path(), "ours"}, others{folder.path(), "others"};
    const auto asked = [&](const test::certificate& shown, const std::string& trusted) {
        tls_server server{shown};
        auto a = to("127.0.0.1:" + server.port());
        a.tls = true;
        a.how.ca = trusted;
        return in_background([&] {
                   block_sigpipe();
                   http h{a};
                   return in_words(h.ask(asks()));
               })
            .get();
    };
    const auto right = ours.issue("right", "IP:127.0.0.1");
    EXPECT_EQ(asked(right, ours.file()), "200 hello");
    EXPECT_EQ(asked(right, ""), "SSL peer certificate or SSH remote key was not OK")
        << "the system does not know it";
    EXPECT_EQ(asked(others.issue("foreign", "IP:127.0.0.1"), ours.file()),
              "SSL peer certificate or SSH remote key was not OK");
    EXPECT_EQ(asked(ours.issue("elsewhere", "DNS:elsewhere"), ours.file()),
              "SSL peer certificate or SSH remote key was not OK");
}

// libcurl writes into the connection when it closes it, an old one without MSG_NOSIGNAL.
TEST_F(nacos_http, raises_no_sigpipe_when_it_closes_a_connection_that_was_reset) {
    const temp_dir folder;
    const test::certificate_authority ours{folder.path(), "ours"};
    tls_server server{ours.issue("right", "IP:127.0.0.1"), tls_server::end::by_reset};
    io::reactor reactor;
    for (int i = 1; i <= 5; ++i) {
        // What the server answers is no document, so there is a pause of half a second now.
        const fallback::nacos_source source{
            reactor, "nacos+https://127.0.0.1:" + server.port() + "/public/tests/id?ca=" + ours.file(),
            patience, [](const fallback::told&) {}};
        EXPECT_TRUE(test::eventually(patience, [&] { return server.served() >= i; }));
    }
}

}  // namespace
}  // namespace holdfast::nacos
