// The URL of one configuration in Nacos:
//
//     nacos://[user:password@]host[:port][,host[:port]...]/namespace/group/dataId[?option=value&...]
//     nacos+https://...     the same over TLS
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::nacos {

struct address {
    struct options {
        std::string path = "/nacos";                  // the servers' nacos.server.contextPath
        std::chrono::milliseconds long_poll{30'000};  // how long a server may hold a question
        std::string ca;                               // PEM file with authorities; empty: the system's
    };

    bool tls = false;
    std::vector<std::string> servers;  // "host:port"
    std::string user;                  // empty: no login
    std::string password;
    std::string name_space;  // its id; empty: the one named "public"
    std::string group;
    std::string id;
    options how;

    // The URL without user, password and options.
    [[nodiscard]] std::string shown() const;
};

// Throws holdfast::error (errc::invalid_argument); the text never repeats a part of the URL. A URL without a
// user takes both from the environment: HOLDFAST_NACOS_USER and HOLDFAST_NACOS_PASSWORD.
[[nodiscard]] address parse_address(std::string_view url);

}  // namespace holdfast::nacos
