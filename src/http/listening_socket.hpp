// A TCP socket that listens on an address that a person has written.
#pragma once

#include "base/fork_closed_fd.hpp"

#include <string>
#include <string_view>

namespace holdfast::http {

struct listening_socket {
    base::fork_closed_fd fd;  // a forked child must not keep the port taken
    std::string address;      // with the port that the system chose, if 0 was asked for
};

// `address`: "127.0.0.1:9464", "[::1]:9464", "localhost:9464"; 0.0.0.0 and [::] stand for all
// addresses of the machine.
// Throws holdfast::error (errc::invalid_argument) if it is not that, or cannot be listened on.
[[nodiscard]] listening_socket listen_on(std::string_view address);

}  // namespace holdfast::http
