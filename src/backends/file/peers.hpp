// The clients of a directory: each has a socket whose name says who it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::file_backend {

struct peer {
    std::string socket;    // its name in the folder
    std::string tag;       // see owner_number
    std::int64_t pid = 0;  // 0: a process of another pid namespace, whose number means nothing here
};

// For the client with this tag in this process.
[[nodiscard]] std::string socket_name(std::string_view tag);
// Nothing for a name that socket_name() did not make.
[[nodiscard]] std::optional<peer> peer_in(const std::string& socket);
// Also clients that were killed and could not remove their sockets.
[[nodiscard]] std::vector<peer> peers_in(const std::string& folder);

}  // namespace holdfast::file_backend
