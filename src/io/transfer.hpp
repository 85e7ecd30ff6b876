// The outcome of a send or a receive.
#pragma once

#include <cstddef>
#include <system_error>

namespace holdfast::io {

enum class progress {
    done,         // `bytes` were moved, at least one
    would_block,  // nothing was moved; wait until the descriptor is ready
    closed,       // the peer ended the stream in order
    failed,       // the connection is broken; `error` says how
};
struct transfer {
    progress state = progress::would_block;
    std::size_t bytes = 0;
    std::error_code error;
};

// The largest payload of a TLS record. What does not fit into the receiver's buffer stays inside OpenSSL,
// where poll() does not see it. Every buffer for receiving is this large, so nothing ever stays.
inline constexpr std::size_t receive_size = 16384;

}  // namespace holdfast::io
