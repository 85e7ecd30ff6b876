#include "backends/redis/doctor/cluster_nodes.hpp"

#include <algorithm>

namespace holdfast::redis_backend::doctor {

namespace {

std::string_view cut_at(std::string_view& text, char separator) {
    const auto head = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), head.size() + 1));
    return head;
}

}  // namespace

bool cluster_node::is(std::string_view flag) const {
    for (auto rest = flags; !rest.empty();)
        if (cut_at(rest, ',') == flag) return true;
    return false;
}

std::string_view cluster_node::address() const {
    return {host.data(), static_cast<std::size_t>(port.data() + port.size() - host.data())};
}

std::vector<cluster_node> nodes_in(std::string_view text) {
    std::vector<cluster_node> nodes;
    while (!text.empty()) {
        auto line = cut_at(text, '\n');
        cluster_node n;
        n.id = cut_at(line, ' ');
        auto place = cut_at(line, ' ');
        n.flags = cut_at(line, ' ');
        n.master = cut_at(line, ' ');
        for (int skipped = 0; skipped < 3; ++skipped) (void)cut_at(line, ' ');
        if (cut_at(line, ' ').empty()) continue;  // it ends before "connected"
        n.slots = line;
        const auto address = place.substr(0, place.find_first_of("@,"));
        const auto colon = std::min(address.rfind(':'), address.size());  // an IPv6 address has more
        n.host = address.substr(0, colon);
        n.port = address.substr(std::min(colon + 1, address.size()));
        if (const auto comma = place.find(','); comma != std::string_view::npos) {
            place.remove_prefix(comma + 1);
            n.hostname = place.substr(0, place.find(','));
        }
        nodes.push_back(n);
    }
    return nodes;
}

}  // namespace holdfast::redis_backend::doctor
