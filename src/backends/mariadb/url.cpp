#include "backends/mariadb/url.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <charconv>
#include <map>

namespace holdfast::mariadb_backend {

namespace {

using std::string_view;

[[noreturn]] void refuse(const std::string& why) {
    throw error(make_error_code(errc::invalid_argument), "mysql: " + why);
}

// Parts are not repeated: they may be parts of a password.
std::string plain(string_view text, string_view part) {
    auto all = base::percent_decoded(text);
    if (!all)
        refuse("the " + std::string{part} +
               " has a '%' that is not followed by two hexadecimal digits; write %25 for a percent sign");
    if (all->find('\0') != std::string::npos) refuse("the " + std::string{part} + " contains a NUL byte");
    return *std::move(all);
}

url::server parse_server(string_view text) {
    auto host = text;
    string_view port;
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == string_view::npos) refuse("an address lacks a ']'");
        host = text.substr(1, end - 1);
        const auto rest = text.substr(end + 1);
        if (!rest.empty() && !rest.starts_with(':')) refuse("a server is [ADDRESS]:PORT");
        port = rest.substr(std::min<std::size_t>(1, rest.size()));
    } else if (const auto colon = text.rfind(':'); colon != string_view::npos) {
        host = text.substr(0, colon);
        port = text.substr(colon + 1);
    }
    url::server one{plain(host, "host"), 0};
    if (port.empty()) return one;
    const auto [end, ec] = std::from_chars(port.data(), port.data() + port.size(), one.port);
    if (ec != std::errc{} || end != port.data() + port.size() || one.port == 0)
        refuse("a port is a number from 1 to 65535; a ':' or '@' in a password is written as %3A or %40");
    return one;
}

tls parse_mode(string_view text) {
    std::string mode{text};
    std::transform(mode.begin(), mode.end(), mode.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (mode == "disabled") return tls::off;
    if (mode == "required") return tls::unverified;
    if (mode == "verify_identity") return tls::verified;
    refuse("the option ssl-mode is disabled, required or verify_identity");
}

struct our_options {
    sql_backend::url_options common{"mysql"};
    std::optional<tls> mode;
};

void take_option(string_view text, url& to, our_options& ours) {
    const auto equals = std::min(text.find('='), text.size());
    const auto name = text.substr(0, equals);
    const auto value = plain(text.substr(std::min(equals + 1, text.size())), "option");
    const std::map<string_view, std::string*> texts{
        {"socket", &to.socket},        {"ssl-ca", &to.ca},   {"ssl-capath", &to.ca_path},
        {"ssl-cert", &to.certificate}, {"ssl-key", &to.key}, {"defaults-file", &to.defaults_file}};
    if (ours.common.take(name, value)) return;
    if (name == "wake") {
        if (value != "poll" && value != "kill") refuse("the option wake is poll or kill");
        to.rings = value == "kill";
    } else if (name == "ssl-mode") {
        ours.mode = parse_mode(value);
    } else if (const auto found = texts.find(name); found != texts.end()) {
        if (value.empty()) refuse("the option " + std::string{name} + " is a path");
        *found->second = value;
    } else {
        refuse(
            "there is no option of that name; there are socket, ssl-mode, ssl-ca, ssl-capath, ssl-cert, "
            "ssl-key, defaults-file, wake, create, layout, restarts and longest_lease");
    }
}

}  // namespace

url parse_url(string_view text) {
    url to;
    text.remove_prefix(std::min(text.find(':') + 1, text.size()));
    if (!text.starts_with("//")) refuse("the URL is mysql://user:password@host:port/database?option=value");
    text.remove_prefix(2);
    const auto question = std::min(text.find('?'), text.size());
    auto options = text.substr(std::min(question + 1, text.size()));
    text = text.substr(0, question);
    const auto slash = std::min(text.find('/'), text.size());
    to.database = plain(text.substr(std::min(slash + 1, text.size())), "database");
    auto servers = text.substr(0, slash);
    if (const auto at = servers.rfind('@'); at != string_view::npos) {
        const auto user = servers.substr(0, at);
        const auto colon = std::min(user.find(':'), user.size());
        to.user = plain(user.substr(0, colon), "user");
        if (colon != user.size()) to.password = plain(user.substr(colon + 1), "password");
        servers.remove_prefix(at + 1);
    }
    for (bool more = true; more;) {
        const auto comma = servers.find(',');
        to.servers.push_back(parse_server(servers.substr(0, comma)));
        more = comma != string_view::npos;
        if (more) servers.remove_prefix(comma + 1);
    }
    our_options ours;
    while (!options.empty()) {
        const auto end = options.find('&');
        take_option(options.substr(0, end), to, ours);
        options = end == string_view::npos ? string_view{} : options.substr(end + 1);
    }
    ours.common.check();
    to.table = ours.common.table();
    if (to.rings && to.table == sql_backend::layout::shedlock)
        refuse("the option wake belongs to the table of holdfast, and not to that of ShedLock");
    to.create = ours.common.create();
    to.longest_lease = ours.common.longest_lease();
    if (to.database.empty() && to.defaults_file.empty())
        refuse("the URL names no database; it is mysql://user:password@host:port/database");
    const bool local = std::all_of(to.servers.begin(), to.servers.end(),
                                   [](const auto& s) { return sql_backend::is_local(s.host); });
    // A user who names authorities wants the certificate to be verified.
    const bool verifies = !local || !to.ca.empty() || !to.ca_path.empty();
    to.encryption = ours.mode.value_or(verifies ? tls::verified : tls::off);
    const auto& first = to.servers.front().host;
    to.where = (first.empty() ? "this machine" : base::printable(first)) + '/' + base::printable(to.database);
    return to;
}

}  // namespace holdfast::mariadb_backend
