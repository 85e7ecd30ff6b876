// Explains a failure of TLS to the people who must fix it.
#pragma once

#include "redis/config/node_config.hpp"
#include "redis/connection/handshake.hpp"

#include <optional>
#include <string_view>
#include <system_error>

namespace holdfast::redis {

// Empty if the error is not about TLS. A failure that only a person can mend is `refused`:
// errc::no_permission if the server wants a certificate or does not accept ours, errc::invalid_argument if we
// do not accept the server.
[[nodiscard]] std::optional<connect_failure> tls_failure(const node_config&, const std::error_code&);

// True if these first bytes, received on a plaintext connection, are TLS.
[[nodiscard]] bool looks_like_tls(std::string_view bytes) noexcept;
[[nodiscard]] connect_failure speaks_tls(const node_config&);

}  // namespace holdfast::redis
