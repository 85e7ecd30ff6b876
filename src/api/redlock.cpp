#include <holdfast/redlock.hpp>

#include "base/text.hpp"

#include <holdfast/error.hpp>

namespace holdfast {

std::string redlock_url(std::span<const std::string> servers, const redlock_options& options) {
    std::string url = "redlock:node_timeout=" + base::to_text(options.node_timeout) +
                      ",longest_lease=" + base::to_text(options.longest_lease);
    if (options.restarts == redlock_options::restarts::trusted) url += ",restarts=trusted";
    if (!options.name.empty()) url += ",name=" + options.name;
    for (const auto& server : servers) {
        if (server.empty()) throw error(errc::invalid_argument, "redlock_url: the URL of a server is empty");
        url.append(",").append(server);
    }
    return url;
}

}  // namespace holdfast
