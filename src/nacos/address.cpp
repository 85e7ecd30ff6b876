#include "nacos/address.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <cstdlib>

namespace holdfast::nacos {

namespace {

using std::string_view;
using std::chrono::milliseconds;

constexpr string_view plain_scheme = "nacos://";
constexpr string_view tls_scheme = "nacos+https://";
constexpr string_view letters_and_digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

[[noreturn]] void refuse(const std::string& why) {
    throw error(make_error_code(errc::invalid_argument), "nacos: " + why);
}

bool consists_of(string_view text, string_view more) {
    return std::ranges::all_of(text, [&](char c) {
        return letters_and_digits.find(c) != string_view::npos || more.find(c) != string_view::npos;
    });
}

// The text before the first `at`, which goes with it; all of it if there is none.
string_view cut(string_view& text, char at) {
    const auto end = std::min(text.find(at), text.size());
    const auto first = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return first;
}

std::string decoded(string_view text, string_view part) {
    auto all = base::percent_decoded(text);
    if (!all || all->find('\0') != std::string::npos)
        refuse("the " + std::string{part} + " has a '%' that is not followed by two hexadecimal digits");
    return *std::move(all);
}

std::string server_of(string_view text) {
    const bool in_brackets = text.starts_with('[');
    const auto end_of_host = in_brackets ? text.find(']') + 1 : std::min(text.find(':'), text.size());
    const auto host = text.substr(0, end_of_host);
    if (host.empty() || !consists_of(host, in_brackets ? "[]:.%" : ".-_"))
        refuse(
            "a server is host, host:port or [address]:port; a ':' or '@' in a password is written as %3A or "
            "%40");
    const auto port = text.substr(end_of_host);
    if (port.empty()) return std::string{host} + ":8848";
    const bool is_number = port.size() >= 2 && port.size() <= 6 && port.front() == ':' &&
                           port.find_first_not_of("0123456789", 1) == string_view::npos;
    const int number = is_number ? std::stoi(std::string{port.substr(1)}) : 0;
    if (number < 1 || number > 65535) refuse("a port is a number from 1 to 65535");
    return std::string{text};
}

// The server decodes names twice in the long poll, so no other characters reach it unharmed.
std::string name_of(string_view text, string_view part) {
    if (text.empty() || text.size() > 256 || !consists_of(text, ".:_-"))
        refuse("the " + std::string{part} + " needs 1 to 256 letters, digits, \".\", \":\", \"_\" and \"-\"");
    return std::string{text};
}

void take_option(string_view text, address::options& to) {
    const auto name = cut(text, '=');
    const auto value = decoded(text, "option");
    if (name == "long_poll") {
        const auto given = base::parse_duration(value);
        // Servers hold a question for ten seconds at least.
        if (!given || *given < milliseconds{10'000} || *given > milliseconds{60'000})
            refuse("the option long_poll is 10s to 1m");
        to.long_poll = *given;
    } else if (name == "path") {
        if (!value.empty() &&
            (!value.starts_with('/') || value.ends_with('/') || !consists_of(value, "/._-")))
            refuse("the option path begins with a '/', as the servers' nacos.server.contextPath");
        to.path = value;
    } else if (name == "ca") {
        to.ca = value;
    } else {
        refuse("there is no option of that name; there are long_poll, path and ca");
    }
}

std::string environment(const char* variable) {
    const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing here sets one
    return value != nullptr ? value : "";
}

}  // namespace

address parse_address(string_view url) {
    address to;
    to.tls = url.starts_with(tls_scheme);
    if (!to.tls && !url.starts_with(plain_scheme))
        refuse("the URL is nacos://host:port/namespace/group/dataId, or nacos+https://");
    url.remove_prefix(to.tls ? tls_scheme.size() : plain_scheme.size());
    auto path = cut(url, '?');
    while (!url.empty()) take_option(cut(url, '&'), to.how);
    if (!to.how.ca.empty() && !to.tls) refuse("the option ca is for nacos+https://");

    auto servers = cut(path, '/');
    if (const auto at = servers.rfind('@'); at != string_view::npos) {
        auto login = servers.substr(0, at);
        to.user = decoded(cut(login, ':'), "user");
        to.password = decoded(login, "password");
        servers.remove_prefix(at + 1);
    } else {
        to.user = environment("HOLDFAST_NACOS_USER");
        to.password = environment("HOLDFAST_NACOS_PASSWORD");
    }
    if (servers.ends_with(',')) refuse("a server is missing behind a ','");
    do to.servers.push_back(server_of(cut(servers, ',')));
    while (!servers.empty());

    to.name_space = name_of(cut(path, '/'), "namespace");
    // Servers of version 2 know it by no other name than the empty one.
    if (to.name_space == "public") to.name_space.clear();
    to.group = name_of(cut(path, '/'), "group");
    to.id = name_of(path, "dataId");
    return to;
}

std::string address::shown() const {
    std::string all{tls ? tls_scheme : plain_scheme};
    for (const auto& server : servers) all += (&server == &servers.front() ? "" : ",") + server;
    return all + '/' + (name_space.empty() ? "public" : name_space) + '/' + group + '/' + id;
}

}  // namespace holdfast::nacos
