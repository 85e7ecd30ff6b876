// One connected byte stream to a server: TCP, with or without TLS, or a unix-domain socket; never blocking.
#pragma once

#include "io/transfer.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace holdfast::io {

class tls_context;
class tls_session;
struct tls_state;

// Where to connect. With a unix_path, host and port are not used.
struct endpoint {
    std::string host;
    std::uint16_t port = 0;
    std::string unix_path;
    // After this long without an acknowledgement of sent bytes the kernel gives the connection up.
    std::chrono::milliseconds user_timeout{0};
};

// One address of an endpoint; opaque to callers.
struct address {
    int family = 0;
    std::vector<std::byte> bytes;
};

// Every address of the endpoint in the resolver's order (IPv6 and IPv4 as the system prefers). May block
// in getaddrinfo for as long as the system's resolver does. Empty, and `why` is set, when there is none.
[[nodiscard]] std::vector<address> resolve(const endpoint&, std::string& why);
// A path or an address: resolving it asks nobody and never blocks.
[[nodiscard]] bool resolves_at_once(const endpoint&);

// Owns the descriptor (CLOEXEC, non-blocking). `send_some` by one thread, `recv_some` by one thread and
// `shut_down` by any, all at the same time; the rest by one thread while nobody does those.
// The descriptor is closed by the destructor alone, so its number stays good while anybody holds the stream.
class stream {
  public:
    stream();
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    ~stream();

    // Begins to connect; finished when the descriptor is writable. An error here is final for this address.
    [[nodiscard]] std::error_code start_connect(const endpoint&, const address&);
    // The outcome, once the descriptor was reported writable.
    [[nodiscard]] std::error_code finish_connect();

    // Once connected: nothing passes but in TLS from now on. `handshake` comes before all else, again and
    // again until it is done; would_block: when the descriptor is readable or, if `handshake_wants_room`,
    // writable.
    void secure(const tls_context&);
    [[nodiscard]] transfer handshake() noexcept;
    [[nodiscard]] bool handshake_wants_room() const noexcept;
    // After the handshake.
    [[nodiscard]] tls_state security() const;

    [[nodiscard]] int fd() const noexcept { return fd_; }

    // Do not block, do not raise SIGPIPE. `into` has at least receive_size bytes. After would_block the same
    // bytes must be sent next, and others may follow them.
    [[nodiscard]] transfer send_some(std::string_view bytes) noexcept;
    [[nodiscard]] transfer recv_some(std::span<char> into) noexcept;

    // Both directions end; whoever polls or receives is woken. The descriptor stays open.
    void shut_down() noexcept;

  private:
    int fd_ = -1;
    std::unique_ptr<tls_session> tls_;  // null: plaintext
};

}  // namespace holdfast::io
