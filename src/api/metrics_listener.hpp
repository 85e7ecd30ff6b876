// The server that config::metrics_listen asks for.
#pragma once

#include <holdfast/client.hpp>

#include <memory>

namespace holdfast::detail {

// Throws holdfast::error (errc::invalid_argument) if the address cannot be listened on, or if this library
// was built without a server. It must end before the client.
[[nodiscard]] std::shared_ptr<http::metrics_server> serve_metrics(client& of);

}  // namespace holdfast::detail
