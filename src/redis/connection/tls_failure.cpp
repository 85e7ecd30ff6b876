#include "redis/connection/tls_failure.hpp"

#include "base/text.hpp"
#include "io/tls.hpp"

#include <holdfast/error.hpp>

namespace holdfast::redis {

namespace {

connect_failure refused(errc code, std::string sentence) {
    return {connect_failure::what::refused, {code, std::move(sentence)}};
}

// The same, for what is fixed at the server as often as in the URL.
connect_failure distrusted(std::string sentence) {
    auto failure = refused(errc::invalid_argument, std::move(sentence));
    failure.why.not_trusted = true;
    return failure;
}

}  // namespace

std::optional<connect_failure> tls_failure(const node_config& config, const std::error_code& ec) {
    if (!config.tls) return {};
    const auto where = address_text(config);
    const auto& wanted = config.tls->settings();
    const bool has_certificate = !wanted.cert.empty();
    switch (io::fault_of(ec)) {
        case io::tls_fault::none: return {};
        case io::tls_fault::certificate:
            return distrusted("the certificate of " + where + " is not accepted: " + ec.message() +
                              (wanted.server_name == config.host
                                   ? ""
                                   : " (asked for \"" + base::printable(wanted.server_name) + "\")"));
        case io::tls_fault::not_tls:
            return refused(errc::invalid_argument,
                           where + " does not speak TLS; is redis:// meant, or another port?");
        case io::tls_fault::version:
            return distrusted(where + " has no version of TLS that is allowed here; at least " +
                              (wanted.tls_min == io::tls_version::v1_3 ? "1.3" : "1.2") + " is wanted");
        case io::tls_fault::wants_certificate:
            return refused(errc::no_permission,
                           where + (has_certificate ? " got no certificate that it takes from us"
                                                    : " wants a certificate from us (cert and key)"));
        case io::tls_fault::certificate_refused:
            return refused(errc::no_permission, where + " does not accept our certificate: " + ec.message());
        case io::tls_fault::handshake_refused:
            // TLS 1.2 reports no more, whatever the reason. Most often it is a missing certificate.
            if (!has_certificate)
                return refused(errc::no_permission,
                               where + " ended the TLS handshake: " + ec.message() +
                                   "; does it want a certificate from us? (cert and key)");
            return distrusted(where + " ended the TLS handshake: " + ec.message());
        case io::tls_fault::other: break;
    }
    return connect_failure{connect_failure::what::unreachable,
                           {errc::unavailable, "no TLS with " + where + ": " + ec.message()}};
}

bool looks_like_tls(std::string_view bytes) noexcept {
    // An alert (21) or a part of the handshake (22), and the version's first byte.
    return bytes.size() >= 2 && (bytes[0] == 21 || bytes[0] == 22) && bytes[1] == 3;
}

connect_failure speaks_tls(const node_config& config) {
    return refused(errc::invalid_argument, address_text(config) + " speaks TLS; rediss:// is meant");
}

}  // namespace holdfast::redis
