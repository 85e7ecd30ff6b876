#include "api/metrics_listener.hpp"

#include "api/access.hpp"

#include <holdfast/error.hpp>
#include <holdfast/metrics.hpp>

#ifdef HOLDFAST_HAS_HTTP
#include "http/metrics_server.hpp"
#endif

#include <string>

namespace holdfast {

#ifdef HOLDFAST_HAS_HTTP

std::shared_ptr<http::metrics_server> detail::serve_metrics(client& of) {
    return std::make_shared<http::metrics_server>(of.settings().metrics_listen,
                                                  [&of](metrics_format as) { return metrics_text(of, as); });
}

std::string metrics_address(const client& of) {
    const auto& server = detail::access::metrics_of(of);
    return server ? server->address() : std::string{};
}

#else

std::shared_ptr<http::metrics_server> detail::serve_metrics(client&) {
    throw error(errc::invalid_argument,
                "config::metrics_listen: this library was built without libmicrohttpd");
}

std::string metrics_address(const client&) { return {}; }

#endif

}  // namespace holdfast
