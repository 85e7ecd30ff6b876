// What the server loses while it runs, and what it loses in a restart.
#include "backends/redis/doctor/checks.hpp"

namespace holdfast::redis_backend::doctor {

namespace {

void check_eviction(const snapshot& s, report& r) {
    const auto policy = s.field("maxmemory_policy");
    if (!policy) return r.unknown("eviction-policy", s.why_no_field("maxmemory_policy"));
    const auto found = "maxmemory-policy is " + std::string{*policy};
    if (*policy == "noeviction") return r.ok("eviction-policy", found);
    // Any other policy evicts locks: the volatile ones, too, since locks have a TTL.
    if (s.number("maxmemory") == 0) return r.warning("eviction-policy", found + "; it waits for a maxmemory");
    r.danger("eviction-policy", found);
}

void check_room(const snapshot& s, report& r) {
    const auto most = s.number("maxmemory");
    const auto used = s.number("used_memory");
    if (!most || !used)
        return r.unknown("memory-headroom", s.why_no_field(most ? "used_memory" : "maxmemory"));
    if (*most == 0) return r.ok("memory-headroom", "maxmemory is not set");
    if (s.field("loading") == "1")
        return r.unknown("memory-headroom",
                         "the server is still reading its data, and needs more when it has");
    const auto percent =
        static_cast<std::int64_t>(100.0 * static_cast<double>(*used) / static_cast<double>(*most));
    const auto found = std::to_string(percent) + " % of maxmemory are used";
    if (percent >= 90) return r.warning("memory-headroom", found);
    if (percent >= 75) return r.note("memory-headroom", found);
    r.ok("memory-headroom", found);
}

void check_failing(const snapshot& s, report& r) {
    for (const auto* const what :
         {"rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status"}) {
        const auto status = s.field(what);
        if (status && *status != "ok")
            r.warning("persistence-failing", std::string{what} + " is " + std::string{*status});
    }
}

}  // namespace

void check_memory(const snapshot& s, report& r) {
    check_eviction(s, r);
    check_room(s, r);
}

void check_persistence(const snapshot& s, report& r) {
    check_failing(s, r);
    const auto appends = s.field("aof_enabled");
    if (!appends) return r.unknown("persistence", s.why_no_field("aof_enabled"));
    auto writes = *appends == "1";
    if (!writes && s.field("loading") == "1") {
        // INFO reports 0 while the server reads the file, whatever is configured.
        const auto configured = s.setting("appendonly");
        if (!configured)
            return r.unknown(
                "persistence",
                "the server is still reading its data, and tells what it writes only when it has "
                "(" +
                    s.why_no_setting("appendonly") + ")");
        writes = *configured == "yes";
    }
    if (writes) {
        const auto sync = s.setting("appendfsync");
        if (!sync)
            return r.unknown("persistence", "appendonly is yes, but " + s.why_no_setting("appendfsync"));
        if (*sync == "always") return r.ok("persistence", "appendonly is yes, appendfsync always");
        if (*sync == "everysec")
            return r.add(
                severity::note, "persistence",
                "appendonly is yes, appendfsync everysec: when the machine fails, not the process alone, a "
                "second of locks is forgotten",
                "appendfsync always costs a disk write per lock; redlock or a replica's acknowledgement cost "
                "less.");
        return r.warning("persistence", "appendonly is yes, appendfsync " + *sync +
                                            ": when the machine fails, half a minute of locks is forgotten");
    }
    const auto save = s.setting("save");
    if (!save)
        return r.warning("persistence",
                         "appendonly is no: a crash forgets all locks since the last snapshot, if there "
                         "is one (" +
                             s.why_no_setting("save") + ")");
    if (save->empty())
        return r.danger("persistence", "nothing is written to disk: any restart forgets all locks");
    r.warning("persistence",
              "snapshots only (save " + *save + "): a crash forgets the locks since the last one");
}

}  // namespace holdfast::redis_backend::doctor
