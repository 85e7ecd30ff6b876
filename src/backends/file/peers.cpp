#include "backends/file/peers.hpp"

#include "backends/common/host.hpp"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <system_error>

namespace holdfast::file_backend {

namespace {

// "4026531836" of "pid:[4026531836]"; "0" where it is unknown.
std::string namespace_number() {
    std::string digits;
    for (const char c : backends::process_namespace())
        if (c >= '0' && c <= '9') digits += c;
    return digits.empty() ? "0" : digits;
}

}  // namespace

std::string socket_name(std::string_view tag) {
    return std::string{tag} + '.' + std::to_string(::getpid()) + '.' + namespace_number();
}

std::optional<peer> peer_in(const std::string& socket) {
    const auto first = socket.find('.');
    const auto second = socket.find('.', first + 1);
    if (first == std::string::npos || second == std::string::npos) return std::nullopt;
    peer found{socket, socket.substr(0, first)};
    const auto* const begin = socket.data() + first + 1;
    const auto* const end = socket.data() + second;
    const auto [stopped, ec] = std::from_chars(begin, end, found.pid);
    if (ec != std::errc{} || stopped != end || found.pid < 1) return std::nullopt;
    const auto where = socket.substr(second + 1);
    if (where == "0" || where != namespace_number()) found.pid = 0;
    return found;
}

std::vector<peer> peers_in(const std::string& folder) {
    std::vector<peer> all;
    std::error_code ec;
    for (std::filesystem::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec))
        if (auto known = peer_in(it->path().filename().string())) all.push_back(*std::move(known));
    return all;
}

}  // namespace holdfast::file_backend
