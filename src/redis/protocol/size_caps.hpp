// How much memory the replies of a server, and the commands that wait for it, may take.
#pragma once

#include <cstddef>

namespace holdfast::redis {

// Limits the memory that a broken or hostile server can make us use.
struct size_caps {
    std::size_t bulk_bytes = std::size_t{64} << 20;  // one string of a reply; our own are below 1 KiB
    std::size_t elements = std::size_t{1} << 20;     // of all arrays of one reply together
    std::size_t queued_bytes = std::size_t{64}
                               << 20;  // commands that wait for a connection or for the socket
};

}  // namespace holdfast::redis
