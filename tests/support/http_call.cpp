#include "support/http_call.hpp"

#include "support/loopback.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cctype>

namespace holdfast::test {

http_result http_call(std::uint16_t port, const std::string& method, const std::string& target,
                      const std::string& form, const std::vector<std::string>& headers,
                      std::chrono::milliseconds limit) {
    const auto to = connect_to(port);
    if (!to) return {};
    // In version 1.0 the end of the connection is the end of the answer.
    auto text = method + ' ' + target +
                " HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: " + std::to_string(form.size()) +
                "\r\nContent-Type: application/x-www-form-urlencoded\r\n";
    for (const auto& one : headers) text += one + "\r\n";
    text += "\r\n" + form;
    for (std::size_t sent = 0; sent < text.size();) {
        const auto n = ::send(to.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) return {};
        sent += static_cast<std::size_t>(n);
    }
    std::string got;
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        pollfd ready{to.get(), POLLIN, 0};
        if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) return {};
        std::array<char, 4096> bytes;
        const auto n = ::read(to.get(), bytes.data(), bytes.size());
        if (n <= 0) break;
        got.append(bytes.data(), static_cast<std::size_t>(n));
    }
    const auto space = got.find(' ');
    const auto body = got.find("\r\n\r\n");
    if (space == std::string::npos || body == std::string::npos) return {};
    return {std::stoi(got.substr(space + 1, 3)), got.substr(body + 4)};
}

std::string percent_encoded(const std::string& text) {
    constexpr auto* digits = "0123456789ABCDEF";
    std::string all;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0) {
            all += c;
        } else {
            all += '%';
            all += digits[byte >> 4U];
            all += digits[byte & 15U];
        }
    }
    return all;
}

}  // namespace holdfast::test
