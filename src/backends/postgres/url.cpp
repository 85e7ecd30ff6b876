#include "backends/postgres/url.hpp"

#include "backends/postgres/libpq.hpp"
#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <openssl/x509.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace holdfast::postgres_backend {

namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw error(make_error_code(errc::invalid_argument), "postgres: " + why);
}

// Takes the options of holdfast out of the URL; libpq refuses what it does not know.
std::string without_our_options(std::string_view text, url& to) {
    sql_backend::url_options ours{"postgres"};
    const auto question = text.find('?');
    std::string rest{text.substr(0, question)};
    auto options = question == std::string_view::npos ? std::string_view{} : text.substr(question + 1);
    char separator = '?';
    while (!options.empty()) {
        const auto end = options.find('&');
        const auto one = options.substr(0, end);
        options = end == std::string_view::npos ? std::string_view{} : options.substr(end + 1);
        const auto equals = std::min(one.find('='), one.size());
        if (ours.take(one.substr(0, equals), one.substr(std::min(equals + 1, one.size())))) continue;
        rest.append(1, separator).append(one);
        separator = '&';
    }
    ours.check();
    to.create = ours.create();
    to.table = ours.table();
    to.longest_lease = ours.longest_lease();
    return rest;
}

const char* environment(const char* variable) {
    return std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): as libpq reads its own
}

bool is_set(const char* variable) {
    const char* const value = environment(variable);
    return value != nullptr && *value != '\0';
}

// Of a list.
bool all_local(std::string_view hosts) {
    for (;;) {
        const auto comma = hosts.find(',');
        if (!sql_backend::is_local(hosts.substr(0, comma))) return false;
        if (comma == std::string_view::npos) return true;
        hosts.remove_prefix(comma + 1);
    }
}

// libpq has no way to say "those that this machine trusts" before version 16.
std::string trusted_certificates() {
    const char* const named = environment(X509_get_default_cert_file_env());
    for (const char* const file : {named, X509_get_default_cert_file(), "/etc/ssl/certs/ca-certificates.crt",
                                   "/etc/pki/tls/certs/ca-bundle.crt"}) {
        if (file != nullptr && ::access(file, R_OK) == 0) return file;
    }
    return {};
}

bool user_has_root_certificate() {
    const char* const home = environment("HOME");
    return home != nullptr && ::access((std::string{home} + "/.postgresql/root.crt").c_str(), F_OK) == 0;
}

}  // namespace

url parse_url(std::string_view text) {
    url to;
    const auto plain = without_our_options(text, to);
    char* why = nullptr;
    const std::unique_ptr<PQconninfoOption, decltype(pq().PQconninfoFree)> options{
        pq().PQconninfoParse(plain.c_str(), &why), pq().PQconninfoFree};
    const std::unique_ptr<char, decltype(pq().PQfreemem)> text_of_why{why, pq().PQfreemem};
    if (!options) {
        // libpq repeats parts of the URL, and these may be parts of a password.
        refuse(
            "libpq cannot read the URL; it is postgres://user@host:port/database?option=value, and a '%', "
            "'@', "
            "'/', ':' or '?' in a name or password is written as %XX");
    }
    std::string host;
    std::string database;
    for (const auto* o = options.get(); o->keyword != nullptr; ++o) {
        if (o->val == nullptr) continue;
        to.parameters.emplace_back(o->keyword, o->val);
        if (std::string_view{o->keyword} == "host") host = o->val;
        if (std::string_view{o->keyword} == "dbname") database = o->val;
    }
    const auto has = [&](std::string_view name) {
        return std::any_of(to.parameters.begin(), to.parameters.end(),
                           [&](const auto& p) { return p.first == name; });
    };
    if (host.empty() && is_set("PGHOST")) host = environment("PGHOST");
    if (has("service") || is_set("PGSERVICE")) {
        to.where = "the service that libpq knows";
    } else {
        to.where = (host.empty() ? "this machine" : base::printable(host)) + '/' +
                   (database.empty() ? "the user's database" : base::printable(database));
        if (!has("sslmode") && !is_set("PGSSLMODE") && !all_local(host)) {
            to.parameters.emplace_back("sslmode", "verify-full");
            if (!has("sslrootcert") && !is_set("PGSSLROOTCERT") && !user_has_root_certificate()) {
                if (auto file = trusted_certificates(); !file.empty())
                    to.parameters.emplace_back("sslrootcert", std::move(file));
            }
        }
    }
    // Of several servers, the one that takes writes.
    if (!has("target_session_attrs") && !is_set("PGTARGETSESSIONATTRS"))
        to.parameters.emplace_back("target_session_attrs", "read-write");
    return to;
}

}  // namespace holdfast::postgres_backend
