// Redis URLs, as written in configurations.
#pragma once

#include "redis/config/node_config.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

//   redis://[user[:password]@]host[:port][/db][?option=value&...]   redis://:password@host without a user
//   rediss://...                                                    the same, always with TLS
//   unix:///path/to.sock[?option=value&...]
//   redis+sentinel://[user[:password]@]host[:26379],host.../master[/db][?option=value&...]
//   rediss+sentinel://...                                           TLS to the sentinels and the master
// Options of all: connect_timeout, command_timeout (durations), name (of the connection), db.
// With unix also: user, password. With sentinels also: sentinel_user, sentinel_password. With TLS also those
// of io::tls_settings; their files are read here. %XX stands for a byte anywhere; IPv6 addresses stand in
// brackets.
//
// Throws holdfast::error (errc::invalid_argument) with one sentence that names the bad part and what is
// allowed. No sentence contains the password or the whole URL.
//
// Options that only the owner of the connection knows are passed on to it: see other_options.
struct other_options;
[[nodiscard]] node_config parse_url(std::string_view url, other_options* others = nullptr);

struct url_option {
    std::string name;
    std::string value;  // decoded, otherwise not looked at
};
// The names that any URL may have besides those above, and the options of these names that it has, in its
// order.
struct other_options {
    std::span<const std::string_view> names;
    std::vector<url_option> found{};
};

}  // namespace holdfast::redis
