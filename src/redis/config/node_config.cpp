#include "redis/config/node_config.hpp"

#include "base/text.hpp"
#include "io/tls.hpp"

#include <utility>

namespace holdfast::redis {

std::string address_text(const host_port& at) {
    const bool ipv6 = at.host.find(':') != std::string::npos;
    return base::printable(ipv6 ? "[" + at.host + "]" : at.host) + ":" + std::to_string(at.port);
}

std::string address_text(const node_config& c) {
    if (c.sentinels) return "the master \"" + base::printable(c.sentinels->master) + "\"";
    if (!c.unix_path.empty()) return "unix:" + base::printable(c.unix_path);
    return address_text(host_port{c.host, c.port});
}

node_config config_at(node_config c, const host_port& place) {
    c.sentinels.reset();
    c.unix_path.clear();
    c.host = place.host;
    c.port = place.port;
    if (c.tls && c.tls_checks_host) c.tls = c.tls->for_server(place.host);
    return c;
}

}  // namespace holdfast::redis
