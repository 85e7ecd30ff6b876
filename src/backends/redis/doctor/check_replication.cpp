// What is lost when a replica takes over.
#include "backends/redis/doctor/checks.hpp"

namespace holdfast::redis_backend::doctor {

namespace {

constexpr std::int64_t lag_of_a_healthy_replica = 10;  // seconds; a replica reports every second

void check_replica(const snapshot& s, report& r) {
    const auto link = s.field("master_link_status");
    if (link && *link != "up")
        r.warning("replica-lag", "this replica's link to its master is " + std::string{*link});
}

void check_lag(const snapshot& s, std::int64_t replicas, report& r) {
    bool well = true;
    for (std::int64_t i = 0; i < replicas; ++i) {
        const auto line = s.field("slave" + std::to_string(i));
        if (!line) continue;
        const auto who = std::string{part_of(*line, "ip")} + ":" + std::string{part_of(*line, "port")};
        const auto state = part_of(*line, "state");
        const auto lag = whole(part_of(*line, "lag"));
        if (state != "online") {
            well = false;
            r.warning("replica-lag", "the replica " + who + " is in the state " + std::string{state});
        } else if (lag && *lag > lag_of_a_healthy_replica) {
            well = false;
            r.warning("replica-lag",
                      "the replica " + who + " last reported " + std::to_string(*lag) + " s ago");
        }
    }
    if (well) r.ok("replica-lag", "all replicas follow");
}

void check_least(const snapshot& s, std::int64_t replicas, report& r) {
    const auto value = s.setting("min-replicas-to-write");
    const auto least = value ? whole(*value) : std::nullopt;
    if (!least) {
        if (replicas > 0) r.unknown("min-replicas", s.why_no_setting("min-replicas-to-write"));
        return;
    }
    const auto found = "min-replicas-to-write is " + *value;
    const auto good = s.number("min_slaves_good_slaves");
    if (*least > 0 && good && *good < *least)
        return r.add(severity::danger, "min-replicas",
                     found + ", and " + std::to_string(*good) + " replicas follow: no lock is granted now",
                     "Bring replicas back, or lower min-replicas-to-write.");
    if (*least == 0 && replicas > 0) return r.warning("min-replicas", found);
    if (*least > 0) r.ok("min-replicas", found);
}

}  // namespace

void check_replication(const snapshot& s, report& r) {
    if (s.is_replica()) return check_replica(s, r);
    const auto replicas = s.number("connected_slaves");
    if (!replicas) return r.unknown("replicas", s.why_no_field("connected_slaves"));
    if (*replicas == 0) {
        // A cluster has its own check.
        if (s.wanted.part)
            r.ok("replicas", "it has no replica; the other members stand for it");
        else if (!s.is_cluster())
            r.note("replicas", "it has no replica");
    } else {
        r.ok("replicas", "it has " + std::to_string(*replicas) + (*replicas == 1 ? " replica" : " replicas"));
        check_lag(s, *replicas, r);
    }
    check_least(s, *replicas, r);
}

}  // namespace holdfast::redis_backend::doctor
