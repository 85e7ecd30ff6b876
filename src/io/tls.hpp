// TLS over one descriptor, by OpenSSL. No other file includes OpenSSL.
#pragma once

#include "base/annotations.hpp"
#include "io/transfer.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

struct ssl_st;
struct ssl_ctx_st;

namespace holdfast::io {

struct openssl_free {
    void operator()(ssl_st*) const noexcept;
    void operator()(ssl_ctx_st*) const noexcept;
};

enum class tls_version { v1_2, v1_3 };

// The fields have the names of the URL's options, and so do messages.
struct tls_settings {
    std::string ca;  // PEM file with the authorities for the server's certificate; empty: the system's store
    std::string cert;         // PEM file with the client's certificate and its chain; empty: none
    std::string key;          // PEM file with its key; with cert only
    std::string server_name;  // the host name or address that the certificate must match; never empty
    tls_version tls_min = tls_version::v1_2;
};

// How a connection is secured, and until when its certificates are valid.
struct tls_state {
    using time_point = std::chrono::system_clock::time_point;
    std::string version;                     // "TLSv1.3"
    std::optional<time_point> server_until;  // when the server's certificate ends
    std::optional<time_point> own_until;     // when the client's certificate ends; empty: it has none
};

// The settings that all connections to a server share. Immutable, so thread-safe. It always verifies the
// server.
class tls_context {
  public:
    // Reads the files. Throws holdfast::error (errc::invalid_argument) that names the option and the file.
    explicit tls_context(tls_settings);
    tls_context(const tls_context&) = delete;
    tls_context& operator=(const tls_context&) = delete;

    [[nodiscard]] const tls_settings& settings() const noexcept { return settings_; }

    // Returns the same for a server of another name; reads no file again. Throws as above.
    [[nodiscard]] std::shared_ptr<const tls_context> for_server(std::string name) const;

    // The same with the files as they are now. Null if none has changed since they were read, or if they
    // cannot be used: somebody may be writing them.
    [[nodiscard]] std::shared_ptr<const tls_context> reread() const noexcept;

  private:
    friend class tls_session;

    tls_context(tls_settings, const tls_context& read_before);

    void check_name() const;
    void load_authorities();
    void load_own_certificate();

    const tls_settings settings_;
    const std::string files_;  // their state in the file system before they were read
    std::unique_ptr<ssl_ctx_st, openssl_free> context_;
};

// One connection. Does not own the descriptor; the destructor writes nothing to it: a forked child may run
// it.
//
// Thread-safe: an SSL object is not, even for one reader beside one writer, so a mutex guards it. It is held
// over send() and recv(), which never block here.
class tls_session {
  public:
    tls_session(const tls_context&, int fd);
    tls_session(const tls_session&) = delete;
    tls_session& operator=(const tls_session&) = delete;

    // Takes the next step; `done` when the server's identity is verified. Call again when the descriptor is
    // readable, or, if `wants_room`, writable.
    [[nodiscard]] transfer handshake() noexcept EXCLUDES(mutex_);
    [[nodiscard]] bool wants_room() const noexcept EXCLUDES(mutex_);
    // Once the handshake is done.
    [[nodiscard]] tls_state state() const EXCLUDES(mutex_);

    // As io::stream's. `send` counts bytes only when the whole record that carries them was passed to the
    // kernel: the server cannot read a part of a record. After would_block send the same bytes again; others
    // may follow them.
    [[nodiscard]] transfer send(std::string_view) noexcept EXCLUDES(mutex_);
    [[nodiscard]] transfer receive(std::span<char>) noexcept EXCLUDES(mutex_);

  private:
    struct socket_bio;  // OpenSSL's own socket BIO would raise SIGPIPE

    [[nodiscard]] transfer outcome(int returned, std::size_t moved) noexcept REQUIRES(mutex_);
    [[nodiscard]] std::error_code why(int ssl_error) const noexcept REQUIRES(mutex_);

    const int fd_;

    mutable base::mutex mutex_;
    std::unique_ptr<ssl_st, openssl_free> ssl_ PT_GUARDED_BY(mutex_);
    std::size_t unfinished_ GUARDED_BY(mutex_) = 0;  // bytes of a record that is only partly sent
    bool wants_room_ GUARDED_BY(mutex_) = false;
    bool ended_ GUARDED_BY(mutex_) = false;  // the peer's side, with or without close_notify
    std::error_code socket_error_ GUARDED_BY(mutex_);
};

// The meaning of a failed transfer's error code, for messages that tell people what to fix.
enum class tls_fault {
    none,                 // not about TLS
    certificate,          // the server's was not accepted; the code's message says why
    not_tls,              // the peer does not speak TLS
    version,              // no version of TLS that both sides allow
    wants_certificate,    // the server requires a client certificate and received none
    certificate_refused,  // the server rejected the client's certificate
    handshake_refused,    // the server gives no reason
    other,                // the code's message says what
};
[[nodiscard]] tls_fault fault_of(const std::error_code&) noexcept;

}  // namespace holdfast::io
