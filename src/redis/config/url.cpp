#include "redis/config/url.hpp"

#include "base/text.hpp"
#include "io/tls.hpp"
#include "redis/config/url_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

namespace holdfast::redis {

namespace {

int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// `part` names it in the error; its text is not shown, because it may be a secret.
std::string decoded(std::string_view text, std::string_view part) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out.push_back(text[i]);
            continue;
        }
        const int high = i + 2 < text.size() ? hex(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex(text[i + 2]) : -1;
        if (high < 0 || low < 0)
            reject_url("the " + std::string{part} +
                       " has a \"%\" that is not followed by two hex digits; write %25 for a percent sign.");
        out.push_back(static_cast<char>(high * 16 + low));
        i += 2;
    }
    if (out.find('\0') != std::string::npos)
        reject_url("the " + std::string{part} + " contains a zero byte, which is not allowed.");
    return out;
}

template <class T>
std::optional<T> number(std::string_view text) {
    T n{};
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (ec != std::errc{} || end != text.data() + text.size() || text.empty()) return {};
    return n;
}

int database(std::string_view text) {
    const auto n = number<int>(text);
    if (!n || *n < 0 || *n > 999'999)
        reject_url("the database " + quoted(text) + " is not a number from 0 to 999999.");
    return *n;
}

std::string connection_name(std::string text) {
    // CLIENT SETNAME takes printable ASCII without spaces.
    for (const char c : text)
        if (c < '!' || c > '~')
            reject_url(
                "the name " + quoted(text) +
                " has a byte that a connection's name may not have; use printable ASCII without spaces.");
    return text;
}

struct scheme {
    std::string_view name;
    bool tls = false;
    bool unix_socket = false;
    bool sentinels = false;  // its hosts are sentinels
};
constexpr std::array schemes{
    scheme{.name = "redis"},
    scheme{.name = "rediss", .tls = true},
    scheme{.name = "unix", .unix_socket = true},
    scheme{.name = "redis+sentinel", .sentinels = true},
    scheme{.name = "rediss+sentinel", .tls = true, .sentinels = true},
};
constexpr std::string_view allowed_schemes =
    "redis://, rediss://, unix://, redis+sentinel:// or rediss+sentinel://";
constexpr std::uint16_t sentinel_port = 26379;  // registered, like 6379 for Redis

constexpr std::string_view tls_options[] = {"ca", "cert", "key", "server_name", "tls_min"};

// False if it is no TLS option.
bool apply_tls_option(io::tls_settings& to, std::string_view option, const std::string& value,
                      const scheme& s) {
    if (std::find(std::begin(tls_options), std::end(tls_options), option) == std::end(tls_options))
        return false;
    if (!s.tls) {
        const std::string meant = s.sentinels ? "rediss+sentinel://" : "rediss://";
        reject_url("the option " + quoted(option) + " is for TLS, which only " + meant + " has; is " + meant +
                   " meant?");
    }
    if (value.empty()) reject_url("the option " + quoted(option) + " is empty.");
    if (option == "ca") {
        to.ca = value;
    } else if (option == "cert") {
        to.cert = value;
    } else if (option == "key") {
        to.key = value;
    } else if (option == "server_name") {
        to.server_name = value;
    } else if (value == "1.2" || value == "1.3") {
        to.tls_min = value == "1.3" ? io::tls_version::v1_3 : io::tls_version::v1_2;
    } else {
        reject_url("tls_min=" + quoted(value) + " is neither 1.2 nor 1.3.");
    }
    return true;
}

// What is parsed so far. TLS files are read after all of it.
struct parsed {
    node_config node;
    io::tls_settings tls;
    other_options* others;  // may be null
};

// False if the owner of the connection does not know it either.
bool pass_on(parsed& all, std::string_view option, const std::string& value) {
    if (all.others == nullptr) return false;
    const auto names = all.others->names;
    if (std::find(names.begin(), names.end(), option) == names.end()) return false;
    all.others->found.push_back({std::string{option}, value});
    return true;
}

std::string allowed_options(const parsed& to, const scheme& s) {
    std::vector<std::string_view> of_all{"connect_timeout", "command_timeout", "name", "db"};
    if (to.others != nullptr) of_all.insert(of_all.end(), to.others->names.begin(), to.others->names.end());
    std::string list;
    for (const auto& one : of_all)
        list.append(list.empty() ? "" : &one == &of_all.back() ? " and " : ", ").append(one);
    if (s.unix_socket) list += ", user and password";
    if (s.sentinels) list += ", sentinel_user and sentinel_password";
    if (s.tls) list += ", ca, cert, key, server_name and tls_min";
    return list;
}

void apply_option(parsed& all, std::string_view option, std::string_view raw, const scheme& s) {
    node_config& to = all.node;
    if (option == "password" && s.unix_socket) {
        to.password = decoded(raw, "password");
        return;
    }
    if (option == "sentinel_password" && s.sentinels) {
        to.sentinels->password = decoded(raw, "sentinel_password");
        return;
    }
    const std::string value = decoded(raw, "value of an option");
    if (option == "connect_timeout") {
        to.connect_timeout = duration_of(option, value);
    } else if (option == "command_timeout") {
        to.command_timeout = duration_of(option, value);
    } else if (option == "name") {
        to.client_name = connection_name(value);
    } else if (option == "db") {
        to.db = database(value);
    } else if (option == "user" && s.unix_socket) {
        to.user = value;
    } else if (option == "sentinel_user" && s.sentinels) {
        to.sentinels->user = value;
    } else if (!pass_on(all, option, value) && !apply_tls_option(all.tls, option, value, s)) {
        // After a password the text may be its rest, if it contains an "&".
        const bool after_password = !to.password.empty() || (to.sentinels && !to.sentinels->password.empty());
        reject_url(
            (after_password ? std::string{"an option after the password"} : "the option " + quoted(option)) +
            " is unknown; allowed are " + allowed_options(all, s) + ".");
    }
}

void apply_options(parsed& to, std::string_view query, const scheme& s) {
    while (!query.empty()) {
        const auto one = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), one.size() + 1));
        if (one.empty()) continue;
        const auto equals = one.find('=');
        if (equals == std::string_view::npos) reject_url("an option has no \"=\"; write option=value.");
        apply_option(to, one.substr(0, equals), one.substr(equals + 1), s);
    }
}

void apply_credentials(node_config& to, std::string_view text) {
    const auto colon = text.find(':');
    to.user = decoded(text.substr(0, colon), "user");
    if (colon != std::string_view::npos) to.password = decoded(text.substr(colon + 1), "password");
    if (!to.user.empty() && to.password.empty())
        reject_url(
            "a user is given without a password; write redis://user:password@host, or "
            "redis://:password@host.");
}

host_port parse_host(std::string_view text, std::uint16_t usual_port) {
    host_port to{{}, usual_port};
    std::string_view port;
    bool has_port = false;
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == std::string_view::npos) reject_url("the host begins with \"[\" and has no \"]\".");
        to.host = decoded(text.substr(1, close - 1), "host");
        const auto rest = text.substr(close + 1);
        has_port = rest.starts_with(':');
        if (!rest.empty() && !has_port) reject_url("after the host's \"]\" only \":port\" may follow.");
        if (has_port) port = rest.substr(1);
    } else {
        const auto colon = text.find(':');
        has_port = colon != std::string_view::npos;
        if (has_port) port = text.substr(colon + 1);
        // The text is not shown: it may be a password whose "@host" was forgotten.
        if (port.find(':') != std::string_view::npos)
            reject_url(
                "the host has more than one \":\"; an IPv6 address stands in brackets, as "
                "redis://[::1]:6379.");
        to.host = decoded(text.substr(0, colon), "host");
    }
    if (to.host.empty()) reject_url("the host is missing; write redis://host or redis://host:port.");
    if (has_port) {
        const auto n = number<unsigned>(port);
        if (!n || *n == 0 || *n > 65535) reject_url("the port is not a number from 1 to 65535.");
        to.port = static_cast<std::uint16_t>(*n);
    }
    return to;
}

void apply_sentinels(sentinel_config& to, std::string_view hosts) {
    for (bool more = true; more;) {
        const auto comma = hosts.find(',');
        auto one = parse_host(hosts.substr(0, comma), sentinel_port);
        // It would be counted twice and could be a majority by itself.
        if (std::find(to.at.begin(), to.at.end(), one) != to.at.end())
            reject_url("the sentinel " + quoted(address_text(one)) + " is listed twice.");
        to.at.push_back(std::move(one));
        more = comma != std::string_view::npos;
        if (more) hosts.remove_prefix(comma + 1);
    }
}

// The part behind the hosts, without the slash: the database or, for sentinels, the master's name and perhaps
// the database.
void apply_path(node_config& to, std::string_view path) {
    if (to.sentinels) {
        const auto slash = path.find('/');
        to.sentinels->master = decoded(path.substr(0, slash), "name of the master");
        if (to.sentinels->master.empty())
            reject_url("the name of the master is missing; write redis+sentinel://host1,host2,host3/name.");
        path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    }
    if (!path.empty()) to.db = database(path);
}

std::shared_ptr<const io::tls_context> context_of(io::tls_settings s, const std::string& host) {
    if (s.cert.empty() != s.key.empty())
        reject_url("cert and key belong together, and " + std::string{s.cert.empty() ? "cert" : "key"} +
                   " is missing.");
    if (s.server_name.empty()) s.server_name = host;
    // "db.example." is the same host, but certificates and TLS greetings do not have the dot.
    if (s.server_name.ends_with('.')) s.server_name.pop_back();
    return std::make_shared<io::tls_context>(std::move(s));
}

}  // namespace

node_config parse_url(std::string_view url, other_options* others) {
    parsed all{{}, {}, others};
    node_config& to = all.node;
    const auto colon = url.find("://");
    const auto name = url.substr(0, colon == std::string_view::npos ? 0 : colon);
    const auto* const found =
        std::find_if(schemes.begin(), schemes.end(), [&](const scheme& one) { return one.name == name; });
    if (found == schemes.end()) reject_url("it must begin with " + std::string{allowed_schemes} + ".");
    const scheme& s = *found;
    if (s.sentinels) to.sentinels.emplace();
    auto rest = url.substr(colon + 3);

    if (!s.unix_socket) {
        // Such a byte has cut a password in two if an "@" follows; no part of it may be shown.
        const auto end = rest.find_first_of("/?");
        if (end != std::string_view::npos && rest.find('@', end) != std::string_view::npos)
            reject_url(
                "there is an \"@\" after a \"/\" or \"?\"; in a password these must be written as %2F and "
                "%3F, and \"@\" elsewhere as %40.");
    }
    std::string_view query;
    if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
        query = rest.substr(mark + 1);
        rest = rest.substr(0, mark);
    }
    if (s.unix_socket) {
        if (!rest.starts_with('/'))
            reject_url("the path of the socket must be absolute, as unix:///run/redis.sock.");
        to.unix_path = decoded(rest, "path");
    } else {
        const auto slash = rest.find('/');
        const auto authority = rest.substr(0, slash);
        const auto at = authority.rfind('@');
        if (at != std::string_view::npos) apply_credentials(to, authority.substr(0, at));
        const auto hosts = at == std::string_view::npos ? authority : authority.substr(at + 1);
        if (s.sentinels) {
            apply_sentinels(*to.sentinels, hosts);
        } else {
            const auto only = parse_host(hosts, to.port);
            to.host = only.host;
            to.port = only.port;
        }
        apply_path(to, slash == std::string_view::npos ? std::string_view{} : rest.substr(slash + 1));
    }
    apply_options(all, query, s);
    if (!to.user.empty() && to.password.empty()) reject_url("a user is given without a password.");
    if (s.sentinels && !to.sentinels->user.empty() && to.sentinels->password.empty())
        reject_url("a sentinel_user is given without a sentinel_password.");
    if (s.tls) {
        to.tls_checks_host = s.sentinels && all.tls.server_name.empty();
        to.tls = context_of(std::move(all.tls), s.sentinels ? to.sentinels->at.front().host : to.host);
    }
    return to;
}

}  // namespace holdfast::redis
