#include "backends/redis/doctor/checks.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace holdfast::redis_backend::doctor {

namespace {

std::string text_of(std::chrono::milliseconds d) { return base::to_text(d); }

void check_version(const snapshot& s, report& r) {
    const auto version = s.field("redis_version");
    if (!version) return r.unknown("version", s.why_no_field("redis_version"));
    const auto major = whole(version->substr(0, version->find('.')));
    if (!major) return r.unknown("version", "the version \"" + std::string{*version} + "\" is no number");
    auto found = "Redis " + std::string{*version};
    if (const auto valkey = s.field("valkey_version"))
        found = "Valkey " + std::string{*valkey} + ", which speaks as " + found;
    const auto rest = version->substr(version->find('.') + 1);
    const auto minor = whole(rest.substr(0, rest.find('.'))).value_or(0);
    if (*major < 6 || (*major == 6 && minor < 2)) return r.danger("version", found + " is older than 6.2");
    r.ok("version", found);
}

void check_role(const snapshot& s, report& r) {
    const auto role = s.field("role");
    if (!role) return r.unknown("role", s.why_no_field("role"));
    if (*role == "master") {
        if (s.as != part::replica) return r.ok("role", "it is a master");
        return r.add(severity::warning, "role",
                     "it was named as a replica, and takes itself for a master: clients that reach it there "
                     "are granted locks that others hold",
                     "Wait, if a failover is under way; else make it a replica again (REPLICAOF).");
    }
    const auto host = s.field("master_host");
    const auto port = s.field("master_port");
    const auto found =
        "it is a replica" +
        (host && port ? " of " + std::string{*host} + ":" + std::string{*port} : std::string{});
    if (s.as == part::replica) return r.ok("role", found);
    r.danger("role", found);
}

void check_clients(const snapshot& s, report& r) {
    const auto now = s.number("connected_clients");
    auto most = s.number("maxclients");  // since Redis 7; before, it is only a setting
    if (!most) {
        const auto set = s.setting("maxclients");
        most = set ? whole(*set) : std::nullopt;
    }
    if (!now || !most || *most <= 0)
        return r.unknown("client-limit",
                         !now ? s.why_no_field("connected_clients") : s.why_no_setting("maxclients"));
    const auto found =
        std::to_string(*now) + " of at most " + std::to_string(*most) + " clients are connected";
    if (*now * 10 >= *most * 9) return r.warning("client-limit", found);
    r.ok("client-limit", found);
}

void check_idle(const snapshot& s, report& r) {
    const auto value = s.setting("timeout");
    const auto seconds = value ? whole(*value) : std::nullopt;
    if (!seconds) return r.unknown("idle-timeout", s.why_no_setting("timeout"));
    if (*seconds == 0) return r.ok("idle-timeout", "idle connections stay open");
    r.note("idle-timeout", "timeout is " + *value + " s");
}

void check_keepalive(const snapshot& s, report& r) {
    const auto value = s.setting("tcp-keepalive");
    const auto seconds = value ? whole(*value) : std::nullopt;
    if (!seconds) return r.unknown("keepalive", s.why_no_setting("tcp-keepalive"));
    if (*seconds == 0) return r.note("keepalive", "tcp-keepalive is 0");
    r.ok("keepalive", "tcp-keepalive is " + *value + " s");
}

void check_scripts(const snapshot& s, report& r) {
    const auto value = s.setting("busy-reply-threshold");
    const auto threshold = value ? whole(*value) : std::nullopt;
    if (!threshold) return r.unknown("slow-scripts", s.why_no_setting("busy-reply-threshold"));
    const std::chrono::milliseconds limit{*threshold};
    if (limit.count() <= 0)
        return r.warning("slow-scripts",
                         "busy-reply-threshold is " + *value + ": a script may run for ever unseen");
    // Renewals are sent every third of a lease: half of it may pass without an answer, and one more still
    // fits.
    if (limit > s.wanted.lease / 2)
        return r.warning("slow-scripts", "busy-reply-threshold is " + text_of(limit) + ", and a lease " +
                                             text_of(s.wanted.lease));
    r.ok("slow-scripts", "busy-reply-threshold is " + text_of(limit));
}

void check_debug(const snapshot& s, report& r) {
    const auto value = s.setting("enable-debug-command");
    if (!value) return;  // before Redis 7 the command is always enabled
    if (*value != "no") return r.note("debug-command", "enable-debug-command is " + *value);
    r.ok("debug-command", "enable-debug-command is no");
}

}  // namespace

void check_server(const snapshot& s, report& r) {
    check_version(s, r);
    check_role(s, r);
    if (s.field("loading") == "1") {
        const auto percent = s.field("loading_loaded_perc");
        r.warning("loading", "it is still reading its data" +
                                 (percent ? ", " + std::string{*percent} + " % so far" : std::string{}) +
                                 "; memory and rights cannot be judged before it has");
    }
    check_clients(s, r);
    check_idle(s, r);
    check_keepalive(s, r);
    check_scripts(s, r);
    check_debug(s, r);
}

std::vector<finding> judge(const snapshot& s) {
    report r{s.address()};
    if (s.as == part::sentinel) {
        check_version(s, r);
        check_connection(s, r);
        check_sentinel(s, r);
        return std::move(r).findings();
    }
    check_server(s, r);
    check_connection(s, r);
    check_clock(s, r);
    check_memory(s, r);
    check_persistence(s, r);
    check_replication(s, r);
    if (s.as != part::replica) check_messages(s, r);
    check_rights(s, r);
    if (s.is_cluster()) check_cluster(s, r);
    auto all = std::move(r).findings();
    // Findings about a replica have no effect before it takes over.
    if (s.as == part::replica)
        for (auto& f : all) f.how_bad = std::min(f.how_bad, severity::warning);
    return all;
}

}  // namespace holdfast::redis_backend::doctor
