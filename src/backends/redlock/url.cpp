#include "backends/redlock/url.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <array>
#include <cctype>

namespace holdfast::redlock_backend {

namespace {

constexpr std::size_t fewest = 3;
constexpr std::size_t most = 15;

[[noreturn]] void bad_url(const std::string& sentence) {
    throw error(errc::invalid_argument, "redlock URL: " + sentence);
}

std::string in_quotes(std::string_view text) { return "\"" + base::printable(text.substr(0, 64)) + "\""; }

// Empty for a scheme that a member may have.
std::string_view why_no_member(std::string_view scheme) {
    for (const std::string_view good : {"redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel"})
        if (scheme == good) return {};
    if (scheme == "redis+cluster" || scheme == "rediss+cluster")
        return "the nodes of a cluster are not independent: they fail over to replicas of each other";
    if (scheme == "local") return "it is no server, and ends with this process";
    if (scheme == "redlock") return "a redlock cannot stand on another";
    return "only redis://, rediss://, unix://, redis+sentinel:// and rediss+sentinel:// can be members";
}

// An unknown scheme may be part of a password with a comma, so it is not shown.
std::string shown(std::string_view scheme) {
    for (const std::string_view known :
         {"redis+cluster", "rediss+cluster", "zk", "mysql", "mariadb", "postgres", "sqlite"}) {
        if (scheme == known) return "a " + in_quotes(scheme);
    }
    return "of an unknown scheme";
}

std::string with_port(std::string_view host, std::string_view usual) {
    std::string address{host};
    std::transform(address.begin(), address.end(), address.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto bracket = address.find(']');
    if (address.find(':', bracket == std::string::npos ? 0 : bracket) == std::string::npos)
        address.append(usual);
    return address;
}

// The sentinels, sorted: their order in the URL has no meaning.
std::string sentinels_of(std::string_view hosts) {
    std::vector<std::string> all;
    for (;;) {
        const auto comma = std::min(hosts.find(','), hosts.size());
        all.push_back(with_port(hosts.substr(0, comma), ":26379"));
        if (comma == hosts.size()) break;
        hosts.remove_prefix(comma + 1);
    }
    std::ranges::sort(all);
    std::string joined = "sentinels:";
    for (const auto& one : all) joined.append(&one == &all.front() ? "" : ",").append(one);
    return joined;
}

std::string address_of(std::string_view url, std::string_view scheme) {
    auto rest = url.substr(scheme.size() + 3);
    const auto options = std::min(rest.find('?'), rest.size());
    if (scheme == "unix") return "unix:" + std::string{rest.substr(0, options)};
    rest = rest.substr(0, options);
    const auto slash = std::min(rest.find('/'), rest.size());
    auto db = rest.substr(slash);
    auto host = rest.substr(0, slash);
    if (const auto at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
    if (scheme.ends_with("+sentinel")) return sentinels_of(host).append(db);
    auto address = with_port(host, ":6379");
    if (db.size() > 1 && db != "/0") address.append(db);
    return address;
}

milliseconds duration_of(std::string_view option, std::string_view value, milliseconds least,
                         milliseconds longest) {
    const auto d = base::parse_duration(value);
    if (!d) bad_url(std::string{option} + "=" + in_quotes(value) + ' ' + base::why_no_duration(value) + '.');
    if (*d < least || *d > longest)
        bad_url(std::string{option} + "=" + in_quotes(value) + " is not a duration from " +
                base::to_text(least) + " to " + base::to_text(longest) + ".");
    return *d;
}

void apply_setting(redlock_config& to, std::string_view item) {
    using namespace std::chrono_literals;
    const auto equals = item.find('=');
    if (equals == std::string_view::npos)
        bad_url(
            "it begins with its settings, as node_timeout=50ms, and then its members, as "
            "redis://host:6379, all separated by commas; one of them is neither.");
    const auto option = item.substr(0, equals);
    const auto value = item.substr(equals + 1);
    if (option == "node_timeout") {
        to.node_timeout = duration_of(option, value, 1ms, 10s);
    } else if (option == "longest_lease") {
        to.longest_lease = duration_of(option, value, 10ms, 24h);
    } else if (option == "restarts") {
        if (value != "quarantined" && value != "trusted")
            bad_url("restarts=" + in_quotes(value) + " is neither quarantined nor trusted.");
        to.quarantine = value == "quarantined";
    } else if (option == "name") {
        const auto fits = [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
        };
        if (value.empty() || value.size() > 64 || !std::all_of(value.begin(), value.end(), fits))
            bad_url("name=" + in_quotes(value) +
                    " is not made of 1 to 64 letters, digits, \"-\", \"_\" and \".\".");
        to.name = value;
    } else {
        bad_url("the option " + in_quotes(option) +
                " is unknown; there are node_timeout, longest_lease, restarts and name.");
    }
}

void add_member(redlock_config& to, std::string_view url) {
    const auto scheme = url.substr(0, url.find("://"));
    if (const auto why = why_no_member(scheme); !why.empty())
        bad_url("member " + std::to_string(to.members.size() + 1) + " is " + shown(scheme) + ": " +
                std::string{why} + ".");
    const auto query = url.substr(std::min(url.find('?'), url.size()));
    for (const std::string_view own : {"restarts=", "failover=", "longest_lease="}) {
        if (query.find(own) != std::string_view::npos)
            bad_url(
                "member " + std::to_string(to.members.size() + 1) + " has the option " +
                in_quotes(own.substr(0, own.size() - 1)) +
                " of its own; a redlock has longest_lease and restarts for all of its members, before the "
                "first of them.");
    }
    to.members.push_back({std::string{url}, address_of(url, scheme)});
}

}  // namespace

redlock_config parse_url(std::string_view url) {
    redlock_config to;
    url.remove_prefix(std::min(url.size(), std::string_view{"redlock:"}.size()));
    std::string pending;  // a member; it may continue after the next comma
    while (!url.empty()) {
        const auto item = url.substr(0, url.find(','));
        url.remove_prefix(std::min(url.size(), item.size() + 1));
        if (item.starts_with("local:") || item.starts_with("redlock:")) {
            bad_url("a member is " + in_quotes(item.substr(0, item.find(':') + 1)) + ", and " +
                    std::string{why_no_member(item.substr(0, item.find(':')))} + ".");
        }
        if (item.find("://") == std::string_view::npos) {
            // Else it would be read as a setting, or as one more host of the previous member.
            if (const auto colon = item.find(":/");
                colon != std::string_view::npos && why_no_member(item.substr(0, colon)).empty())
                bad_url("a member begins with " + in_quotes(item.substr(0, colon + 2)) + ", where " +
                        in_quotes(std::string{item.substr(0, colon)} + "://") + " is meant.");
            if (pending.empty())
                apply_setting(to, item);
            else
                pending.append(",").append(item);
            continue;
        }
        if (!pending.empty()) add_member(to, pending);
        pending = item;
    }
    if (!pending.empty()) add_member(to, pending);
    if (to.members.size() < fewest || to.members.size() > most)
        bad_url("it has " + std::to_string(to.members.size()) +
                " members; with fewer than 3 servers no failure can be borne, and with more than 15 all gets "
                "slower and no safer. Five are usual.");
    for (std::size_t i = 0; i < to.members.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (to.members[i].address == to.members[j].address)
                bad_url("the members " + std::to_string(j + 1) + " and " + std::to_string(i + 1) +
                        " are the same server, " + base::printable(to.members[i].address) +
                        "; each must be one of its own.");
        }
    }
    return to;
}

}  // namespace holdfast::redlock_backend
