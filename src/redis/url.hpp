// Redis URLs, as people write them into configuration.
#pragma once

#include "redis/config.hpp"

#include <string_view>

namespace holdfast::redis {

//   redis://[user[:password]@]host[:port][/db][?option=value&...]   redis://:password@host for a password
//   alone rediss://...                                                    the same in TLS, and never without
//   unix:///path/to.sock[?option=value&...]
//   redis+sentinel://[user[:password]@]host[:26379],host.../master[/db][?option=value&...]
//   rediss+sentinel://...                               in TLS, to the sentinels and to the master
// Options of all: connect_timeout, command_timeout (durations), name (of the connection), db.
// Of unix also: user, password. Of sentinels also: sentinel_user, sentinel_password. Of TLS also those of
// io::tls_settings, whose files are read here. %XX stands for a byte anywhere; IPv6 addresses stand in
// brackets.
//
// Throws holdfast::error (errc::invalid_argument) with one sentence that names the bad part and what is
// allowed. No sentence ever contains the password, nor the URL as a whole.
[[nodiscard]] node_config parse_url(std::string_view url);

}  // namespace holdfast::redis
