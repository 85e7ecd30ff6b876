#include "backends/redis/url/lock_url.hpp"

#include "redis/config/url.hpp"
#include "redis/config/url_text.hpp"

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::redis_backend {

namespace {

using redis::quoted;
using redis::reject_url;

constexpr std::array names{std::string_view{"restarts"}, std::string_view{"failover"},
                           std::string_view{"longest_lease"}};

quarantine_rules rules_in(const std::vector<redis::url_option>& options) {
    quarantine_rules rules;
    std::optional<bool> restarts_trusted;
    bool failover_given = false;
    bool longest_lease_given = false;
    for (const auto& [name, value] : options) {
        if (name == "longest_lease") {
            if (std::exchange(longest_lease_given, true)) reject_url("longest_lease is given twice.");
            rules.longest_lease = redis::duration_of(name, value);
        } else if (name == "restarts") {
            if (value != "trusted" && value != "quarantined")
                reject_url("restarts=" + quoted(value) + " is neither trusted nor quarantined.");
            if (restarts_trusted) reject_url("restarts is given twice.");
            restarts_trusted = value == "trusted";
        } else {
            if (value != "best_effort" && value != "grace")
                reject_url("failover=" + quoted(value) + " is neither best_effort nor grace.");
            if (std::exchange(failover_given, true)) reject_url("failover is given twice.");
            rules.after_failover = value == "grace";
        }
    }
    // If promoted servers are distrusted, restarted ones are too, unless the URL says otherwise.
    rules.after_restart = !restarts_trusted.value_or(!rules.after_failover);
    if (rules.after_failover && rules.longest_lease > std::chrono::hours{1})
        reject_url(
            "with failover=grace longest_lease is at most 1h: a server without replicas forgets after its "
            "repl-backlog-ttl, usually 1h, that it was promoted.");
    if (longest_lease_given && !rules.wanted())
        reject_url("longest_lease belongs to restarts=quarantined or failover=grace, and neither is given.");
    return rules;
}

}  // namespace

lock_url parse_lock_url(std::string_view url) {
    redis::other_options ours{names};
    if (!redis::is_cluster_url(url)) {
        auto server = redis::parse_url(url, &ours);
        return {std::move(server), rules_in(ours.found)};
    }
    auto cluster = redis::parse_cluster_url(url, &ours);
    if (!ours.found.empty())
        reject_url(
            "restarts, failover and longest_lease are for one server or one behind sentinels; in a cluster "
            "any server may be promoted for another's slots. Where a failover must lose no lock take a "
            "redlock of independent servers, or a lock with replicas and a fence.");
    return {std::move(cluster), {}};
}

}  // namespace holdfast::redis_backend
