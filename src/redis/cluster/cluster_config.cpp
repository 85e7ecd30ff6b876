#include "redis/cluster/cluster_config.hpp"

#include "base/text.hpp"
#include "io/tls.hpp"
#include "redis/config/url.hpp"

#include <holdfast/error.hpp>

#include <algorithm>

namespace holdfast::redis {

namespace {

constexpr std::string_view plain_scheme = "redis+cluster://";
constexpr std::string_view tls_scheme = "rediss+cluster://";

[[noreturn]] void cannot(const std::string& sentence) {
    throw error(errc::invalid_argument, "Redis URL: " + sentence);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto part = text.substr(0, text.find(separator));
        parts.push_back(part);
        if (part.size() == text.size()) return parts;
        text.remove_prefix(part.size() + 1);
    }
}

sharded_channels sharded_of(std::string_view value) {
    if (value == "auto") return sharded_channels::automatic;
    if (value == "on") return sharded_channels::on;
    if (value == "off") return sharded_channels::off;
    cannot("sharded=\"" + base::printable(value) + "\" is none of auto, on and off.");
}

}  // namespace

bool is_cluster_url(std::string_view url) noexcept {
    return url.starts_with(plain_scheme) || url.starts_with(tls_scheme);
}

// All but the list of hosts and the option `sharded` is as for one server, so each host is parsed as if it
// were the only one.
cluster_config parse_cluster_url(std::string_view url) {
    if (!is_cluster_url(url)) cannot("it must begin with redis+cluster:// or rediss+cluster://.");
    const bool tls = url.starts_with(tls_scheme);
    auto rest = url.substr(tls ? tls_scheme.size() : plain_scheme.size());

    cluster_config to;
    std::string options;
    const auto mark = std::min(rest.find('?'), rest.size());
    for (const auto option : split(rest.substr(std::min(mark + 1, rest.size())), '&')) {
        if (option.starts_with("sharded=")) {
            to.sharded = sharded_of(option.substr(option.find('=') + 1));
            continue;
        }
        if (option.starts_with("db=") && option != "db=0") cannot("a cluster has no database but 0.");
        if (option.starts_with("restarts=") || option.starts_with("failover=") ||
            option.starts_with("longest_lease="))
            cannot(
                "restarts, failover and longest_lease are for one server or one behind sentinels; in a "
                "cluster "
                "any server may be promoted for another's slots. Where a failover must lose no lock take a "
                "redlock of independent servers, or a lock with replicas and a fence.");
        to.one_server_name |= option.starts_with("server_name=");
        options.append(options.empty() ? "?" : "&").append(option);
    }
    // The "@" that ends the password is the last before the first "/" or "?"; if there is one behind them,
    // parse_url reports the error.
    const auto slash = std::min(rest.find('/'), mark);
    const auto at = rest.substr(0, slash).rfind('@');
    const auto credentials = rest.substr(0, at == std::string_view::npos ? 0 : at + 1);
    const auto hosts = rest.substr(credentials.size(), slash - credentials.size());
    const auto path = rest.substr(slash, mark - slash);
    if (path.size() > 1 && path != "/0") {
        if (path.find('@') != std::string_view::npos)
            cannot("there is an \"@\" after a \"/\"; in a password \"/\" must be written as %2F.");
        cannot("behind the hosts of a cluster there is no path; it has no database but 0.");
    }
    const std::string scheme = tls ? "rediss://" : "redis://";
    for (const auto host : split(hosts, ',')) {
        if (host.empty()) cannot("the list of hosts has an empty place; write redis+cluster://host1,host2.");
        const auto one = parse_url(scheme + std::string{credentials} + std::string{host} + options);
        const endpoint seed{one.host, one.port};
        if (to.seeds.empty()) to.each = one;
        if (std::find(to.seeds.begin(), to.seeds.end(), seed) == to.seeds.end()) to.seeds.push_back(seed);
    }
    return to;
}

node_config node_config_of(const cluster_config& all, const endpoint& server) {
    auto config = all.each;
    config.host = server.host;
    config.port = server.port;
    if (!config.tls || all.one_server_name || config.tls->settings().server_name == server.host)
        return config;
    auto settings = config.tls->settings();
    settings.server_name = server.host;
    try {
        config.tls = std::make_shared<io::tls_context>(std::move(settings));
    } catch (const error&) {  // NOLINT(bugprone-empty-catch)
        // A file that existed at the start is gone. The certificate is then checked for the first host's
        // name, and refused: this fails closed.
    }
    return config;
}

}  // namespace holdfast::redis
