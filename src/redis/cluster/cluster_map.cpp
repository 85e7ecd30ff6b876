#include "redis/cluster/cluster_map.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::redis {

namespace {

template <class Int>
std::optional<Int> whole_number(std::string_view text) {
    Int n{};
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (ec != std::errc{} || end != text.data() + text.size()) return {};
    return n;
}

std::string_view take_word(std::string_view& text) {
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return word;
}

// A server that does not know its own host sends nothing, nil or "?".
std::string host_or(std::string_view host, const endpoint& server) {
    return std::string{host.empty() || host == "?" ? std::string_view{server.host} : host};
}

// {host, port, id, ...}
std::optional<endpoint> endpoint_of(const reply& described, const endpoint& server) {
    const auto fields = described.items();
    if (fields.size() < 2 || !fields[1].is_integer()) return {};
    const auto port = fields[1].integer();
    if (port <= 0 || port > 65535) return {};
    return endpoint{host_or(fields[0].text(), server), static_cast<std::uint16_t>(port)};
}

}  // namespace

std::string address_text(const endpoint& e) {
    const bool ipv6 = e.host.find(':') != std::string::npos;
    return base::printable(ipv6 ? "[" + e.host + "]" : e.host) + ":" + std::to_string(e.port);
}

std::optional<redirection> parse_redirection(std::string_view text, const endpoint& server) {
    const auto word = take_word(text);
    if (word != "MOVED" && word != "ASK") return {};
    const auto slot = whole_number<std::uint16_t>(take_word(text));
    const auto address = take_word(text);
    const auto colon = address.rfind(':');  // an IPv6 address contains others, and has no brackets
    if (!slot || *slot >= slots || colon == std::string_view::npos) return {};
    const auto port = whole_number<std::uint16_t>(address.substr(colon + 1));
    if (!port || *port == 0) return {};
    return redirection{word == "ASK" ? redirection::what::ask : redirection::what::moved,
                       *slot,
                       {host_or(address.substr(0, colon), server), *port}};
}

// Each range is {first, last, master, replicas...}.
std::optional<cluster_map> cluster_map::parse(const reply& answer, const endpoint& server) {
    if (!answer.is_array()) return {};
    cluster_map map;
    for (const auto& range : answer.items()) {
        const auto parts = range.items();
        if (parts.size() < 3 || !parts[0].is_integer() || !parts[1].is_integer()) return {};
        const auto from = parts[0].integer();
        const auto to = parts[1].integer();
        const auto master = endpoint_of(parts[2], server);
        if (from < 0 || to >= slots || from > to || !master) return {};
        const auto n = map.number_of(*master);
        std::fill(map.owners_.begin() + from, map.owners_.begin() + to + 1, n);
        for (const auto& other : parts.subspan(3)) {
            const auto replica = endpoint_of(other, server);
            if (replica &&
                std::find(map.replicas_.begin(), map.replicas_.end(), *replica) == map.replicas_.end())
                map.replicas_.push_back(*replica);
        }
    }
    return map;
}

void cluster_map::move(std::uint16_t slot, const endpoint& to) { owners_[slot] = number_of(to); }

std::uint16_t cluster_map::number_of(const endpoint& master) {
    const auto known = std::find(masters_.begin(), masters_.end(), master);
    if (known == masters_.end()) {
        masters_.push_back(master);
        return static_cast<std::uint16_t>(masters_.size() - 1);
    }
    return static_cast<std::uint16_t>(known - masters_.begin());
}

}  // namespace holdfast::redis
