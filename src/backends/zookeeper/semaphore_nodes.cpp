#include "backends/zookeeper/semaphore_nodes.hpp"

#include <algorithm>

namespace holdfast::zookeeper_backend {

std::string directory_of(const paths& where, const backend::lock_key& key) {
    auto directory = where.of(key.name);
    return is_semaphore(key.of) ? semaphore_paths{std::move(directory)}.line : directory;
}

std::string prefix_of_permit(const owner_id& owner) {
    return std::string{"_c_"}.append(uuid_of(owner.str())).append("-lease-");
}

std::string alien_in(std::span<const std::string> children) {
    const auto found = std::find_if(children.begin(), children.end(), [](const std::string& name) {
        return name != "locks" && name != "leases" && name != "count";
    });
    return found == children.end() ? std::string{} : *found;
}

bool is_directory_of_semaphore(std::span<const std::string> children) {
    return !children.empty() && alien_in(children).empty();
}

permits_of_owner look_for(const owner_id& owner, std::span<const std::string> permits) {
    const auto prefix = prefix_of_permit(owner);
    permits_of_owner found;
    std::int64_t last = -1;
    for (const auto& name : permits) {
        const auto number = parse_child(name).number;
        if (number < 0 || number >= highest_number) found.exhausted = true;
        if (!name.starts_with(prefix)) continue;
        found.names.push_back(name);
        last = std::max(last, number);
    }
    for (const auto& name : permits) {
        const auto c = parse_child(name);
        // What has no number may have come before.
        if (c.is != role::permit || c.number <= last) ++found.rank;
    }
    return found;
}

}  // namespace holdfast::zookeeper_backend
