// A byte stream to a server: TCP, with or without TLS, or a unix-domain socket; non-blocking.
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
    // The kernel drops the connection after this long without an acknowledgement of sent bytes.
    std::chrono::milliseconds user_timeout{0};
};

// One address of an endpoint; opaque to callers.
struct address {
    int family = 0;
    std::vector<std::byte> bytes;
};

// Returns every address of the endpoint in the resolver's order (IPv6 and IPv4 as the system prefers). May
// block in getaddrinfo for as long as the system's resolver does. If there is none, the result is empty and
// `why` is set.
[[nodiscard]] std::vector<address> resolve(const endpoint&, std::string& why);
// True for a path or an address: resolving it needs no server and never blocks.
[[nodiscard]] bool resolves_at_once(const endpoint&);

// Owns the descriptor (CLOEXEC, non-blocking). One thread may call `send_some`, one `recv_some` and any
// `shut_down`, all at the same time; the rest is for one thread while none of those runs. Only the destructor
// closes the descriptor, so its number stays valid while the stream exists.
class stream {
  public:
    stream();
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    ~stream();

    // Begins to connect; complete when the descriptor is writable. An error here is final for this address.
    [[nodiscard]] std::error_code start_connect(const endpoint&, const address&);
    // Returns the outcome, once the descriptor was reported writable.
    [[nodiscard]] std::error_code finish_connect();

    // Call once connected: from now on all data goes through TLS. Then repeat `handshake`, before anything
    // else, until it is done; after would_block, when the descriptor is readable or, if
    // `handshake_wants_room`, writable.
    void secure(const tls_context&);
    [[nodiscard]] transfer handshake() noexcept;
    [[nodiscard]] bool handshake_wants_room() const noexcept;
    // After the handshake.
    [[nodiscard]] tls_state security() const;

    [[nodiscard]] int fd() const noexcept { return fd_; }

    // Do not block, do not raise SIGPIPE. `into` has at least receive_size bytes. After would_block send the
    // same bytes next; others may follow them.
    [[nodiscard]] transfer send_some(std::string_view bytes) noexcept;
    [[nodiscard]] transfer recv_some(std::span<char> into) noexcept;

    // Ends both directions; wakes a thread that polls or receives. The descriptor stays open.
    void shut_down() noexcept;

  private:
    int fd_ = -1;
    std::unique_ptr<tls_session> tls_;  // null: plaintext
};

}  // namespace holdfast::io
