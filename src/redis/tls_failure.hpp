// What a failure of TLS means for a connection, in words for whoever must mend it.
#pragma once

#include "redis/config.hpp"
#include "redis/handshake.hpp"

#include <optional>
#include <string_view>
#include <system_error>

namespace holdfast::redis {

// Empty: it is not about TLS. What somebody must mend is `refused`: errc::no_permission where the server does
// not accept our certificate, or wants one, and errc::invalid_argument where we do not accept the server.
[[nodiscard]] std::optional<connect_failure> tls_failure(const node_config&, const std::error_code&);

// The first bytes from a server that was talked to in plaintext.
[[nodiscard]] bool looks_like_tls(std::string_view bytes) noexcept;
[[nodiscard]] connect_failure speaks_tls(const node_config&);

}  // namespace holdfast::redis
