#include "backends/zookeeper/url.hpp"

#include "base/text.hpp"
#include "io/tls.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <charconv>

namespace holdfast::zookeeper_backend {

namespace {

using std::string_view;

[[noreturn]] void refuse(const std::string& why) {
    throw error(make_error_code(errc::invalid_argument), "zk: " + why);
}

std::string quoted(string_view text) { return '"' + base::printable(text.substr(0, 64)) + '"'; }

std::string decoded(string_view text, string_view part) {
    auto plain = base::percent_decoded(text);
    if (!plain)
        refuse("the " + std::string{part} +
               " has a \"%\" that is not followed by two hex digits; write %25 for a percent sign");
    return *std::move(plain);
}

zookeeper::server parse_server(string_view text) {
    constexpr std::uint16_t registered_port = 2181;
    zookeeper::server s;
    s.where.port = registered_port;
    auto host = text;
    string_view port;
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == string_view::npos) refuse("the address " + quoted(text) + " lacks a \"]\"");
        host = text.substr(1, end - 1);
        if (const auto rest = text.substr(end + 1); rest.starts_with(':'))
            port = rest.substr(1);
        else if (!rest.empty())
            refuse("the server " + quoted(text) + " is not [ADDRESS]:PORT");
    } else if (const auto colon = text.rfind(':'); colon != string_view::npos) {
        host = text.substr(0, colon);
        port = text.substr(colon + 1);
    }
    if (host.empty()) refuse("a host is empty; servers are written as h1:2181,h2:2181,h3:2181");
    s.where.host = host;
    if (port.empty() && !text.ends_with(':')) return s;
    const auto [end, ec] = std::from_chars(port.data(), port.data() + port.size(), s.where.port);
    if (ec != std::errc{} || end != port.data() + port.size() || s.where.port == 0)
        refuse("the port of " + quoted(text) + " is not a number from 1 to 65535");
    return s;
}

// "/a/b", without an empty element, ".", or ".."; "" for "/".
std::string checked_path(std::string path, string_view part) {
    while (path.ends_with('/')) path.pop_back();
    if (path.empty()) return path;
    const auto bad = [&](const std::string& why) { refuse("the " + std::string{part} + " " + why); };
    if (path.front() != '/') bad("begins with a slash, as in /app");
    string_view rest = path;
    while (!rest.empty()) {
        rest.remove_prefix(1);
        const auto element = rest.substr(0, rest.find('/'));
        if (element.empty() || element == "." || element == "..")
            bad("has an element that is empty, \".\" or \"..\"");
        rest.remove_prefix(element.size());
    }
    if (path.find('\0') != std::string::npos) bad("contains a zero byte");
    return path;
}

void apply(url& to, io::tls_settings& tls, bool secured, string_view option, const std::string& value) {
    if (option == "base") {
        to.base = checked_path(value, "option base");
        if (to.base.empty()) refuse("base=/ is not possible: ZooKeeper keeps nodes of its own there");
    } else if (option == "names") {
        if (value != "curator" && value != "kazoo")
            refuse("names is curator or kazoo: whose names the nodes of a mutex have");
        to.names = value == "kazoo" ? naming::kazoo : naming::curator;
    } else if (option == "fences") {
        if (value != "zxid" && value != "time") refuse("fences is zxid or time: what fences are made of");
        to.fences = value == "time" ? fence_source::time : fence_source::zxid;
    } else if (option == "tick") {
        const auto d = base::parse_duration(value);
        if (!d || d->count() < 1) refuse("tick is a duration such as 2s, the tickTime of the servers");
        to.tick = *d;
    } else if (option == "ca" || option == "cert" || option == "key" || option == "server_name") {
        if (!secured) refuse("the option " + quoted(option) + " is for TLS, which only zks:// has");
        if (value.empty()) refuse("the option " + quoted(option) + " is empty");
        (option == "ca"     ? tls.ca
         : option == "cert" ? tls.cert
         : option == "key"  ? tls.key
                            : tls.server_name) = value;
    } else {
        refuse("the option " + quoted(option) +
               " is unknown; there are base, names, fences, tick, ca, cert, key and server_name");
    }
}

}  // namespace

url parse_url(string_view text) {
    const bool secured = text.starts_with("zks:");
    auto rest = text.substr(text.find(':') + 1);
    if (!rest.starts_with("//")) refuse("the URL has the form zk://h1,h2,h3/chroot");
    rest.remove_prefix(2);
    url to;
    const auto question = rest.find('?');
    auto options = question == string_view::npos ? string_view{} : rest.substr(question + 1);
    rest = rest.substr(0, question);
    if (const auto at = rest.rfind('@'); at != string_view::npos) {
        const auto login = rest.substr(0, at);
        const auto colon = login.find(':');
        if (colon == string_view::npos || colon == 0) refuse("a login is written as user:password@");
        to.credentials =
            decoded(login.substr(0, colon), "user") + ":" + decoded(login.substr(colon + 1), "password");
        rest.remove_prefix(at + 1);
    }
    const auto slash = rest.find('/');
    if (slash != string_view::npos) to.chroot = checked_path(decoded(rest.substr(slash), "chroot"), "chroot");
    auto hosts = rest.substr(0, slash);
    for (bool more = true; more;) {
        const auto comma = hosts.find(',');
        to.servers.push_back(parse_server(hosts.substr(0, comma)));
        more = comma != string_view::npos;
        if (more) hosts.remove_prefix(comma + 1);
    }
    io::tls_settings tls;
    while (!options.empty()) {
        const auto end = options.find('&');
        const auto one = options.substr(0, end);
        options = end == string_view::npos ? string_view{} : options.substr(end + 1);
        const auto equals = one.find('=');
        if (equals == string_view::npos) refuse("the option " + quoted(one) + " has no value");
        apply(to, tls, secured, one.substr(0, equals), decoded(one.substr(equals + 1), "option"));
    }
    if (!secured) return to;
    std::shared_ptr<const io::tls_context> first;
    const auto asked = tls.server_name;
    for (auto& s : to.servers) {
        tls.server_name = asked.empty() ? s.where.host : asked;
        s.tls = first ? first->for_server(tls.server_name) : std::make_shared<const io::tls_context>(tls);
        if (!first) first = s.tls;
    }
    return to;
}

}  // namespace holdfast::zookeeper_backend
