// The requests of Nacos's HTTP interfaces for one configuration, and what their answers say.
//
//                          2.x    3.0, 3.1                                        3.2
//     v1 read, long poll   yes    410 if nacos.core.api.compatibility.client      404 without an adapter
//                                 .enabled=false
//     v3 read              no     yes                                             yes
//     v1 login             yes    as v1 read                                      no
//     v3 login             no     yes                                             yes
#pragma once

#include "nacos/address.hpp"
#include "nacos/messages.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <variant>

namespace holdfast::nacos {

enum class interface_version { v1, v3 };

[[nodiscard]] request login_request(const address& to, interface_version by);
// `token` may be empty.
[[nodiscard]] request read_request(const address& of, interface_version by, const std::string& token);
// Asks the server to answer when the configuration no longer has this md5. An empty one: when there is one.
[[nodiscard]] request long_poll_request(const address& of, const std::string& md5, const std::string& token);
// The same, answered at once: shows whether the server has long polls.
[[nodiscard]] request probe_request(const address& of, const std::string& token);

struct login_answer {
    std::string token;
    std::chrono::seconds lives{};
};
[[nodiscard]] std::optional<login_answer> read_login(const answer& from);

struct present {
    std::string text;
    std::string md5;
};
struct missing {};
// The answer of something else than Nacos, or an error in words.
struct no_configuration {
    std::string why;
};
using configuration = std::variant<present, missing, no_configuration>;
// Answers with the status 200; version 1 answers 404 when it is missing.
[[nodiscard]] configuration read_configuration(answer from, interface_version by);

enum class poll_answer { nothing_new, changed, foreign };
[[nodiscard]] poll_answer read_poll(const address& of, const answer& from);

// The server does not have this interface (any more).
[[nodiscard]] constexpr bool is_gone(int status) { return status == 404 || status == 410 || status == 501; }
[[nodiscard]] constexpr bool is_denied(int status) { return status == 401 || status == 403; }

}  // namespace holdfast::nacos
