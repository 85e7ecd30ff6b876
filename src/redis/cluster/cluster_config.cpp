#include "redis/cluster/cluster_config.hpp"

#include "io/tls.hpp"
#include "redis/config/url.hpp"
#include "redis/config/url_text.hpp"

#include <holdfast/error.hpp>

#include <algorithm>

namespace holdfast::redis {

namespace {

constexpr std::string_view plain_scheme = "redis+cluster://";
constexpr std::string_view tls_scheme = "rediss+cluster://";

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
    reject_url("sharded=" + quoted(value) + " is none of auto, on and off.");
}

}  // namespace

bool is_cluster_url(std::string_view url) noexcept {
    return url.starts_with(plain_scheme) || url.starts_with(tls_scheme);
}

// All but the list of hosts and the option `sharded` is as for one server, so each host is parsed as if it
// were the only one.
cluster_config parse_cluster_url(std::string_view url, other_options* others) {
    if (!is_cluster_url(url)) reject_url("it must begin with redis+cluster:// or rediss+cluster://.");
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
        if (option.starts_with("db=") && option != "db=0") reject_url("a cluster has no database but 0.");
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
            reject_url("there is an \"@\" after a \"/\"; in a password \"/\" must be written as %2F.");
        reject_url("behind the hosts of a cluster there is no path; it has no database but 0.");
    }
    const std::string scheme = tls ? "rediss://" : "redis://";
    for (const auto host : split(hosts, ',')) {
        if (host.empty())
            reject_url("the list of hosts has an empty place; write redis+cluster://host1,host2.");
        // Each host has the same options: those of the first are passed on.
        other_options of_host{others != nullptr ? others->names : std::span<const std::string_view>{}};
        const auto one = parse_url(scheme + std::string{credentials} + std::string{host} + options, &of_host);
        if (others != nullptr && to.seeds.empty()) others->found = std::move(of_host.found);
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
