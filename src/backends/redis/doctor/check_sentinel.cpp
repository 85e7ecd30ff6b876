// The answers of one sentinel: whether the sentinels can replace the master that they watch.
#include "backends/redis/doctor/checks.hpp"

namespace holdfast::redis_backend::doctor {

namespace {

void check_quorum(const snapshot& s, const redis::reply& master, report& r) {
    const auto others = whole(named_value(master, "num-other-sentinels"));
    const auto quorum = whole(named_value(master, "quorum"));
    if (!others || !quorum) return r.unknown("sentinel-quorum", "SENTINEL MASTER does not report it");
    const auto sentinels = *others + 1;
    const auto found = s.watched + " is watched by " + std::to_string(sentinels) +
                       (sentinels == 1 ? " sentinel" : " sentinels") + " with a quorum of " +
                       std::to_string(*quorum);
    const auto* const agreed = s.quorum.reply();
    if (*quorum > sentinels) return r.danger("sentinel-quorum", found + ": they can never agree");
    if (agreed == nullptr && s.quorum.why_not().starts_with("NOQUORUM"))
        return r.danger("sentinel-quorum", found + ": " + s.quorum.why_not());
    if (sentinels < 3)
        return r.warning("sentinel-quorum",
                         found + ": when one of them ends with the master, no replica replaces it");
    if (*quorum * 2 <= sentinels)
        return r.warning(
            "sentinel-quorum",
            found + ": fewer than half of them, cut off from the others, take the master for dead");
    if (agreed == nullptr) return r.unknown("sentinel-quorum", "SENTINEL CKQUORUM: " + s.quorum.why_not());
    r.ok("sentinel-quorum", found);
}

void check_master(const snapshot& s, const redis::reply& master, report& r) {
    const auto flags = named_value(master, "flags");
    const auto found = s.watched + " (" + std::string{named_value(master, "ip")} + ":" +
                       std::string{named_value(master, "port")} + ") has the flags " + std::string{flags};
    if (flags.find("down") != std::string_view::npos || flags.find("disconnected") != std::string_view::npos)
        r.danger("sentinel-master", found);
    else if (flags != "master")
        r.warning("sentinel-master", found);
    else
        r.ok("sentinel-master", found);
}

// The replicas that may replace the master when it fails.
void check_candidates(const snapshot& s, const redis::reply& master, report& r) {
    const auto known = whole(named_value(master, "num-slaves"));
    if (!known) return;
    if (*known == 0) return r.warning("sentinel-replicas", s.watched + " has no replica");
    const auto* const replicas = s.watched_replicas.reply();
    if (replicas == nullptr)
        return r.unknown("sentinel-replicas", "SENTINEL REPLICAS: " + s.watched_replicas.why_not());
    std::int64_t fit = 0;
    for (const auto& replica : replicas->items()) {
        const auto flags = named_value(replica, "flags");
        fit += flags == "slave" && named_value(replica, "slave-priority") != "0" ? 1 : 0;
    }
    const auto found = s.watched + " has " + std::to_string(*known) +
                       (*known == 1 ? " replica" : " replicas") + ", " + std::to_string(fit) +
                       " of which may take over";
    if (fit == 0) return r.warning("sentinel-replicas", found);
    r.ok("sentinel-replicas", found);
}

}  // namespace

void check_sentinel(const snapshot& s, report& r) {
    const auto* const master = s.watched_master.reply();
    if (master == nullptr) {
        const auto why = s.watched_master.why_not();
        if (why.find("No such master") != std::string::npos)
            return r.danger("sentinel-master", "it watches no master of the name " + s.watched);
        return r.unknown("sentinel-master", "SENTINEL MASTER: " + why);
    }
    check_quorum(s, *master, r);
    check_master(s, *master, r);
    check_candidates(s, *master, r);
}

}  // namespace holdfast::redis_backend::doctor
