// HTTP as far as Nacos needs it: what one request says, and what one answer does.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::nacos {

struct request {
    std::size_t server = 0;  // which of address::servers
    std::string target;      // "/nacos/...?..."
    std::vector<std::string> headers{};
    std::optional<std::string> form{};  // the body of a POST; empty: a GET
    std::chrono::milliseconds time_limit{};
    std::size_t most = 0;  // bytes of the body that are read; the rest is dropped
};

struct answer {
    int status = 0;
    std::string body{};
    std::string md5{};  // the header Content-MD5
};

// No connection, no answer in time, or only a part of one.
struct no_answer {
    std::string why;
};

using reply = std::variant<answer, no_answer>;

}  // namespace holdfast::nacos
