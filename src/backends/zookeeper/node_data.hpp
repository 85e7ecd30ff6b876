// What a client writes into its nodes, for people and for clients that lock another kind on the same name.
#pragma once

#include "store/requests.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::zookeeper_backend {

// "holdfast recursive_mutex web-3 4711 1". Curator's clients write their IP address, go-zk's nothing.
struct node_data {
    backend::kind of = backend::kind::native;
    std::string host;
    std::int64_t pid = 0;
    std::uint32_t holds = 1;  // how often the owner has locked it
};
[[nodiscard]] std::string to_bytes(const node_data&);
// Empty: another library wrote it.
[[nodiscard]] std::optional<node_data> parse_node_data(std::string_view bytes);
// Of this process.
[[nodiscard]] node_data own_data(backend::kind of);

// Anyone writes this into a holder's node to ask for the lock; Curator defines it.
inline constexpr std::string_view please_release = "__REVOKE__";

}  // namespace holdfast::zookeeper_backend
