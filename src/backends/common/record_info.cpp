#include "backends/common/record_info.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::backends {

using namespace backend;

lock_info describe(const lock_name& name, const engine::lock_record& r, engine::store_time now,
                   const look_up_client& client_of) {
    lock_info info{name, "free", true, {}, {}, {}, {}, {}};
    if (r.last_fence != 0) info.last_fence = r.last_fence;
    if (r.count) {
        info.count = r.count->value;
        info.layout = type_name(r.count->of);
    }
    for (const auto& w : r.queue) {
        auto client = client_of(w.owner);
        info.queue.push_back({w.owner.str(), std::move(client.host), client.pid,
                              std::chrono::floor<milliseconds>(now - w.since)});
    }
    for (const auto& h : r.holders) {
        if (h.expires <= now) {
            if (info.count) *info.count += h.holds;
            continue;
        }
        info.layout = type_name(h.of);
        if (!r.count)
            info.ttl = std::max(info.ttl.value_or(milliseconds{0}),
                                std::chrono::floor<milliseconds>(h.expires - now));
        auto client = client_of(h.owner);
        info.holders.push_back({h.owner.str(), h.holds, h.of == kind::shared_write, std::move(client.host),
                                client.pid, std::nullopt, client.client, std::move(client.ask_at)});
    }
    return info;
}

std::optional<milliseconds> left_of(const engine::lock_record& r, const std::string& owner,
                                    engine::store_time now) {
    std::optional<milliseconds> left;
    for (const auto& h : r.holders) {
        if (h.owner.str() == owner && h.expires > now)
            left = std::chrono::floor<milliseconds>(h.expires - now);
    }
    return left;
}

std::vector<eviction> evictions_of(const lock_name& name, const engine::lock_record& r,
                                   const std::vector<std::string>& owners, engine::store_time now) {
    std::vector<eviction> all;
    for (const auto& h : r.holders) {
        if (std::find(owners.begin(), owners.end(), h.owner.str()) != owners.end())
            all.push_back(
                {{{h.of, name}, h.owner, false}, std::chrono::floor<milliseconds>(h.expires - now)});
    }
    return all;
}

}  // namespace holdfast::backends
