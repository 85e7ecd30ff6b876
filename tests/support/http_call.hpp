// One HTTP request to a server on 127.0.0.1.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::test {

struct http_result {
    int status = 0;  // 0: no answer
    std::string body;
};

// Blocks for this long at most. `form`: the body; for a method without one it may be empty.
[[nodiscard]] http_result http_call(std::uint16_t port, const std::string& method, const std::string& target,
                                    const std::string& form = {},
                                    const std::vector<std::string>& headers = {},
                                    std::chrono::milliseconds limit = std::chrono::seconds{10});

// %XX for every byte that is no letter or digit.
[[nodiscard]] std::string percent_encoded(const std::string& text);

}  // namespace holdfast::test
