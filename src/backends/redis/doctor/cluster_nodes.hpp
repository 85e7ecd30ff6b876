// The servers of a cluster, as one of them lists them.
#pragma once

#include <string_view>
#include <vector>

namespace holdfast::redis_backend::doctor {

// A line of CLUSTER NODES: id, address, flags, its master's id, ping, pong, epoch, link, slots. Points into
// the text.
struct cluster_node {
    std::string_view id;
    std::string_view host, port;  // the host is empty if the server does not know its own
    std::string_view hostname;    // if it announces one
    std::string_view flags;
    std::string_view master;
    std::string_view slots;  // "0-8191 9000", also slots that are moving

    [[nodiscard]] bool is(std::string_view flag) const;
    [[nodiscard]] bool fails() const { return is("fail") || is("fail?") || is("noaddr"); }
    // "10.0.0.1:6379"
    [[nodiscard]] std::string_view address() const;
};

[[nodiscard]] std::vector<cluster_node> nodes_in(std::string_view text);

}  // namespace holdfast::redis_backend::doctor
