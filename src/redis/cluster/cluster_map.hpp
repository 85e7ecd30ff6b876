// Which server serves which slot of a Redis Cluster, as reported by one of its servers. Does no I/O.
#pragma once

#include "redis/cluster/slots.hpp"
#include "redis/protocol/reply.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

struct endpoint {
    std::string host;
    std::uint16_t port = 0;

    friend bool operator==(const endpoint&, const endpoint&) = default;
    friend auto operator<=>(const endpoint&, const endpoint&) = default;
};
// "127.0.0.1:7000", "[::1]:7000".
[[nodiscard]] std::string address_text(const endpoint&);

// "MOVED 3999 127.0.0.1:6381" and "ASK 3999 127.0.0.1:6381": that server serves the slot, permanently or for
// this one command.
struct redirection {
    enum class what { moved, ask } kind;
    std::uint16_t slot;
    endpoint to;
};
// `server` is the server that was asked; an error without a host means that one.
[[nodiscard]] std::optional<redirection> parse_redirection(std::string_view error_text,
                                                           const endpoint& server);

// A value type. Masters have numbers, which are stable within one map.
class cluster_map {
  public:
    cluster_map() { owners_.fill(no_owner); }

    // Parses the reply of `server` to CLUSTER SLOTS. Empty if it is no such reply.
    [[nodiscard]] static std::optional<cluster_map> parse(const reply&, const endpoint& server);

    [[nodiscard]] std::optional<std::size_t> owner(std::uint16_t slot) const noexcept {
        const auto n = owners_[slot];
        return n == no_owner ? std::nullopt : std::optional<std::size_t>{n};
    }
    [[nodiscard]] const std::vector<endpoint>& masters() const noexcept { return masters_; }
    [[nodiscard]] const std::vector<endpoint>& replicas() const noexcept { return replicas_; }
    [[nodiscard]] bool empty() const noexcept { return masters_.empty(); }

    // Gives a slot to another master, which may be new to the map.
    void move(std::uint16_t slot, const endpoint& to);

  private:
    static constexpr std::uint16_t no_owner = 0xffff;

    [[nodiscard]] std::uint16_t number_of(const endpoint& master);

    std::array<std::uint16_t, slots> owners_;
    std::vector<endpoint> masters_;
    std::vector<endpoint> replicas_;
};

}  // namespace holdfast::redis
