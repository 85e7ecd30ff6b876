#include "io/tls.hpp"

#include "base/never_destroyed.hpp"
#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <utility>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace holdfast::io {

namespace {

// --- errors ---------------------------------------------------------------------------------------

// Converts an error code's int back; the highest bit may be set.
unsigned long packed(int value) { return static_cast<unsigned int>(value); }

// Values are OpenSSL's packed codes.
class tls_category final : public std::error_category {
  public:
    const char* name() const noexcept override { return "tls"; }
    std::string message(int value) const override {
        const char* reason = ERR_reason_error_string(packed(value));
        return reason != nullptr ? std::string{"TLS: "} + reason : "TLS: error " + std::to_string(value);
    }
};

// Values are X509_V_ERR_...
class certificate_category final : public std::error_category {
  public:
    const char* name() const noexcept override { return "certificate"; }
    std::string message(int value) const override { return X509_verify_cert_error_string(value); }
};

const std::error_category& of_tls() noexcept {
    static const base::never_destroyed<tls_category> one;
    return one.it;
}
const std::error_category& of_certificates() noexcept {
    static const base::never_destroyed<certificate_category> one;
    return one.it;
}

[[noreturn]] void bad(const std::string& sentence) {
    ERR_clear_error();
    throw error(errc::invalid_argument, "TLS: " + sentence);
}

// For calls that fail only when memory is short.
void must(bool done, const char* what) {
    if (!done) throw std::system_error(std::make_error_code(std::errc::not_enough_memory), what);
}

std::string named(std::string_view option, const std::string& file) {
    return std::string{option} + "=\"" + base::printable(file) + "\"";
}

// OpenSSL has its own words for "no such file" and "no PEM"; this gives a plainer message.
void must_be_readable(std::string_view option, const std::string& file) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened{std::fopen(file.c_str(), "re"),
                                                                 &std::fclose};
    errno = opened ? 0 : errno;
    if (opened) (void)std::fgetc(opened.get());  // a folder can be opened, but not read
    if (!opened || std::ferror(opened.get()) != 0)
        bad(named(option, file) + " cannot be read: " + std::generic_category().message(errno) + ".");
}

std::optional<tls_state::time_point> ends(const X509* certificate) {
    std::tm when{};
    if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &when) != 1)
        return std::nullopt;
    return std::chrono::system_clock::from_time_t(::timegm(&when));
}

bool is_address(const std::string& host) {
    in6_addr any{};
    return ::inet_pton(AF_INET, host.c_str(), &any) == 1 || ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

// Changes whenever a file is written or replaced.
std::string state_of_files(const tls_settings& of) {
    std::string all;
    for (const auto* const path : {&of.ca, &of.cert, &of.key}) {
        struct stat s {};
        if (path->empty() || ::stat(path->c_str(), &s) != 0) s = {};
        for (const auto n :
             {static_cast<std::int64_t>(s.st_ino), static_cast<std::int64_t>(s.st_size),
              static_cast<std::int64_t>(s.st_mtim.tv_sec), static_cast<std::int64_t>(s.st_mtim.tv_nsec)})
            all += std::to_string(n) + ' ';
    }
    return all;
}

}  // namespace

void openssl_free::operator()(ssl_st* s) const noexcept { SSL_free(s); }
void openssl_free::operator()(ssl_ctx_st* c) const noexcept { SSL_CTX_free(c); }

tls_fault fault_of(const std::error_code& ec) noexcept {
    if (ec.category() == of_certificates()) return tls_fault::certificate;
    if (ec.category() != of_tls()) return tls_fault::none;
    if (ERR_GET_LIB(packed(ec.value())) != ERR_LIB_SSL) return tls_fault::other;
    switch (ERR_GET_REASON(packed(ec.value()))) {
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_HTTP_REQUEST: return tls_fault::not_tls;
        case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_WRONG_SSL_VERSION: return tls_fault::version;
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: return tls_fault::wants_certificate;
        case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
        case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
        case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN: return tls_fault::certificate_refused;
        case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE: return tls_fault::handshake_refused;
        default: return tls_fault::other;
    }
}

// --- the context ------------------------------------------------------------------------------------

tls_context::tls_context(tls_settings wanted)
    : settings_(std::move(wanted)), files_(state_of_files(settings_)) {
    check_name();
    // If a program ends while a client still lives, OpenSSL must not be torn down under the client's thread.
    // This call comes first in the process, unless the program uses OpenSSL itself.
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
    ERR_clear_error();
    context_.reset(SSL_CTX_new(TLS_client_method()));
    must(context_ != nullptr, "SSL_CTX_new");
    auto* const context = context_.get();
    // The system's administrator may have required a later version.
    const int at_least = settings_.tls_min == tls_version::v1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
    if (SSL_CTX_get_min_proto_version(context) < at_least)
        must(SSL_CTX_set_min_proto_version(context, at_least) == 1, "the version of TLS");
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    // A partial write is like that of send(); and bytes that are sent again may have moved within the outbox.
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    load_authorities();
    load_own_certificate();
}

tls_context::tls_context(tls_settings wanted, const tls_context& read_before)
    : settings_(std::move(wanted)), files_(read_before.files_) {
    check_name();
    auto* const shared = read_before.context_.get();
    must(SSL_CTX_up_ref(shared) == 1, "SSL_CTX_up_ref");
    context_.reset(shared);
}

std::shared_ptr<const tls_context> tls_context::reread() const noexcept try {
    if (state_of_files(settings_) == files_) return nullptr;
    return std::make_shared<tls_context>(settings_);
} catch (const std::exception&) {
    return nullptr;
}

std::shared_ptr<const tls_context> tls_context::for_server(std::string name) const {
    auto wanted = settings_;
    wanted.server_name = std::move(name);
    // "db.example." is the same host, but certificates and greetings omit the dot.
    if (wanted.server_name.ends_with('.')) wanted.server_name.pop_back();
    return std::shared_ptr<const tls_context>(new tls_context(std::move(wanted), *this));
}

// An empty name would not be checked at all.
void tls_context::check_name() const {
    if (settings_.server_name.empty() || settings_.server_name.size() > TLSEXT_MAXLEN_host_name)
        bad("the server's name, which its certificate must have, is empty or longer than 255 bytes.");
}

void tls_context::load_authorities() {
    if (settings_.ca.empty()) {
        must(SSL_CTX_set_default_verify_paths(context_.get()) == 1, "the system's certificates");
        return;
    }
    must_be_readable("ca", settings_.ca);
    if (SSL_CTX_load_verify_locations(context_.get(), settings_.ca.c_str(), nullptr) != 1)
        bad(named("ca", settings_.ca) + " holds no certificates in PEM.");
}

void tls_context::load_own_certificate() {
    const auto& cert = settings_.cert;
    const auto& key = settings_.key;
    if (cert.empty()) return;
    must_be_readable("cert", cert);
    must_be_readable("key", key);
    // Otherwise OpenSSL would ask for a passphrase on the terminal.
    SSL_CTX_set_default_passwd_cb(context_.get(), [](char*, int, int, void*) { return -1; });
    if (SSL_CTX_use_certificate_chain_file(context_.get(), cert.c_str()) != 1)
        bad(named("cert", cert) + " holds no certificate in PEM.");
    ERR_clear_error();
    const bool loaded = SSL_CTX_use_PrivateKey_file(context_.get(), key.c_str(), SSL_FILETYPE_PEM) == 1;
    if (!loaded && ERR_GET_LIB(ERR_peek_last_error()) != ERR_LIB_X509)
        bad(named("key", key) + " holds no key in PEM, or one that wants a passphrase.");
    if (!loaded || SSL_CTX_check_private_key(context_.get()) != 1)
        bad(named("key", key) + " does not fit the certificate of " + named("cert", cert) + ".");
}

// --- a session --------------------------------------------------------------------------------------

// Its functions run inside calls to OpenSSL that a session makes with its mutex held.
struct tls_session::socket_bio {
    static tls_session& of(BIO* b) { return *static_cast<tls_session*>(BIO_get_data(b)); }

    static bool again(tls_session& s) NO_THREAD_SAFETY_ANALYSIS {
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return true;
        s.socket_error_ = {errno, std::generic_category()};
        return false;
    }

    static int write(BIO* b, const char* bytes, int size) NO_THREAD_SAFETY_ANALYSIS {
        BIO_clear_retry_flags(b);
        const auto n = ::send(of(b).fd_, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && again(of(b))) BIO_set_retry_write(b);
        return static_cast<int>(n);
    }

    static int read(BIO* b, char* into, int size) NO_THREAD_SAFETY_ANALYSIS {
        BIO_clear_retry_flags(b);
        const auto n = ::recv(of(b).fd_, into, static_cast<std::size_t>(size), MSG_DONTWAIT);
        if (n < 0 && again(of(b))) BIO_set_retry_read(b);
        if (n == 0) of(b).ended_ = true;
        return static_cast<int>(n);
    }

    static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

    static const BIO_METHOD* method() {
        // Never freed: sessions of static clients may outlive other static objects.
        static BIO_METHOD* const it = [] {
            auto* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "holdfast socket");
            must(m != nullptr, "BIO_meth_new");
            BIO_meth_set_write(m, &write);
            BIO_meth_set_read(m, &read);
            BIO_meth_set_ctrl(m, &control);
            return m;
        }();
        return it;
    }
};

tls_session::tls_session(const tls_context& context, int fd) : fd_(fd) {
    ssl_.reset(SSL_new(context.context_.get()));
    must(ssl_ != nullptr, "SSL_new");
    auto* const ssl = ssl_.get();
    auto* const socket = BIO_new(socket_bio::method());
    must(socket != nullptr, "BIO_new");
    BIO_set_data(socket, this);
    BIO_set_init(socket, 1);
    SSL_set_bio(ssl, socket, socket);
    const auto& name = context.settings().server_name;
    auto* const expected = SSL_get0_param(ssl);
    if (is_address(name)) {
        must(X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str()) == 1, "set1_ip");
    } else {
        X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        must(X509_VERIFY_PARAM_set1_host(expected, name.c_str(), 0) == 1, "set1_host");
        SSL_set_tlsext_host_name(ssl, name.c_str());  // an address has no place in the greeting (RFC 6066)
    }
    SSL_set_connect_state(ssl);
}

bool tls_session::wants_room() const noexcept {
    base::guard hold{mutex_};
    return wants_room_;
}

transfer tls_session::handshake() noexcept {
    base::guard hold{mutex_};
    ERR_clear_error();  // the queue is per thread: errors left there by others would be taken for ours
    const int returned = SSL_do_handshake(ssl_.get());
    return outcome(returned, 0);
}

tls_state tls_session::state() const {
    base::guard hold{mutex_};
    const std::unique_ptr<X509, decltype(&X509_free)> peer{SSL_get1_peer_certificate(ssl_.get()), &X509_free};
    return {SSL_get_version(ssl_.get()), ends(peer.get()), ends(SSL_get_certificate(ssl_.get()))};
}

// Sends one record at a time. Of several, OpenSSL may finish the first, find no room for the next, and report
// that nothing was sent: the bytes of the first would be sent again on another connection although the server
// has them.
transfer tls_session::send(std::string_view bytes) noexcept {
    base::guard hold{mutex_};
    ERR_clear_error();
    assert(bytes.size() >= unfinished_);
    const auto size =
        unfinished_ != 0 ? unfinished_ : std::min<std::size_t>(bytes.size(), SSL3_RT_MAX_PLAIN_LENGTH);
    if (size == 0) return {};
    std::size_t taken = 0;
    const int returned = SSL_write_ex(ssl_.get(), bytes.data(), size, &taken);
    const auto t = outcome(returned, taken);
    unfinished_ = t.state == progress::would_block ? size : 0;
    // The peer sent close_notify: to a sender that is an error, as with a plain socket.
    if (t.state == progress::closed)
        return {progress::failed, 0, std::make_error_code(std::errc::connection_reset)};
    return t;
}

transfer tls_session::receive(std::span<char> into) noexcept {
    base::guard hold{mutex_};
    ERR_clear_error();
    std::size_t got = 0;
    const int returned = SSL_read_ex(ssl_.get(), into.data(), into.size(), &got);
    assert(into.size() < receive_size || SSL_pending(ssl_.get()) == 0);
    return outcome(returned, got);
}

transfer tls_session::outcome(int returned, std::size_t moved) noexcept {
    wants_room_ = false;
    if (returned == 1) return {progress::done, moved, {}};
    switch (const int error = SSL_get_error(ssl_.get(), returned)) {
        case SSL_ERROR_WANT_WRITE: wants_room_ = true; return {};
        case SSL_ERROR_WANT_READ: return {};
        case SSL_ERROR_ZERO_RETURN: ended_ = true; return {progress::closed, 0, {}};
        default: {
            const auto reason = why(error);
            ERR_clear_error();  // so that other users of this thread do not take ours for theirs
            // Closed without close_notify, too: a killed server sends none, and a reply that was cut off is
            // recognised without it.
            if (ended_) return {progress::closed, 0, {}};
            return {progress::failed, 0, reason};
        }
    }
}

std::error_code tls_session::why(int ssl_error) const noexcept {
    if (const auto verdict = SSL_get_verify_result(ssl_.get()); verdict != X509_V_OK)
        return {static_cast<int>(verdict), of_certificates()};
    if (ssl_error == SSL_ERROR_SSL) return {static_cast<int>(ERR_peek_error()), of_tls()};
    return socket_error_ ? socket_error_ : std::make_error_code(std::errc::io_error);
}

}  // namespace holdfast::io
