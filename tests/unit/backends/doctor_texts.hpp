// Replies of servers as texts, and what the doctor finds in them.
#pragma once

#include "backends/redis/doctor/checks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <sstream>

namespace holdfast::redis_backend::doctor {

using namespace std::chrono_literals;

inline server_answer answer(std::string text) {
    return server_answer{redis::outcome{redis::reply::of(std::move(text))}};
}
inline server_answer answer(std::int64_t n) { return server_answer{redis::outcome{redis::reply::of(n)}}; }
inline server_answer answer(std::vector<redis::reply> items) {
    return server_answer{redis::outcome{redis::reply::of(std::move(items))}};
}
inline server_answer refused(
    std::string text = "NOPERM this user has no permissions to run the 'info' command") {
    return server_answer{redis::outcome{redis::reply::of_error(std::move(text))}};
}
inline redis::reply text(std::string t) { return redis::reply::of(std::move(t)); }
inline server_answer setting(std::string name, std::string value) {
    return answer(std::vector<redis::reply>{text(std::move(name)), text(std::move(value))});
}

inline constexpr auto healthy_info =
    "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:abc\r\n"
    "# Clients\r\nconnected_clients:3\r\nmaxclients:10000\r\n"
    "# Memory\r\nused_memory:1000000\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
    "# "
    "Persistence\r\nloading:0\r\nrdb_last_bgsave_status:ok\r\naof_enabled:1\r\naof_last_bgrewrite_status:"
    "ok\r\n"
    "aof_last_write_status:ok\r\n"
    "# Replication\r\nrole:master\r\nconnected_slaves:1\r\n"
    "slave0:ip=10.0.0.2,port=6379,state=online,offset=140,lag=1\r\nmin_slaves_good_slaves:1\r\n";

// The replies of a server without a fault.
inline snapshot healthy() {
    snapshot s;
    s.wanted.lease = 30s;
    s.wanted.drift = 302ms;
    s.connection.address = "10.0.0.1:6379";
    s.connection.user = "alice";
    s.connection.authenticated = true;
    s.connection.tls = io::tls_state{"TLSv1.3", io::tls_state::time_point{} + 24h * 365, std::nullopt};
    s.now = 0;
    s.info = answer(healthy_info);
    for (const auto& [name, value] : std::initializer_list<std::pair<std::string_view, const char*>>{
             {"appendfsync", "always"},
             {"save", ""},
             {"min-replicas-to-write", "1"},
             {"timeout", "0"},
             {"tcp-keepalive", "300"},
             {"busy-reply-threshold", "5000"},
             {"maxclients", "10000"},
             {"enable-debug-command", "no"},
             {"cluster-require-full-coverage", "yes"}})
        s.settings[name] = setting(std::string{name}, value);
    s.whoami = answer("alice");
    s.patterns = answer(0);
    s.receivers = answer(0);
    s.clock = {{1'000'000, 1'000'400, 1'000'200}};
    s.rights.emplace(std::nullopt);
    s.verdicts = answer({text(""), text("")});
    return s;
}

// The same with one line of INFO changed, or removed if `value` is empty.
inline snapshot with(const std::string& field, const std::optional<std::string>& value) {
    auto s = healthy();
    std::istringstream lines{healthy_info};
    std::string changed;
    bool found = false;
    for (std::string line; std::getline(lines, line);) {
        const bool it = line.starts_with(field + ":");
        found = found || it;
        if (!it) changed += line + "\n";
        if (it && value) changed += field + ":" + *value + "\r\n";
    }
    if (!found && value) changed += field + ":" + *value + "\r\n";
    s.info = answer(changed);
    return s;
}

inline snapshot with_setting(std::string_view name, const std::string& value) {
    auto s = healthy();
    s.settings[name] = setting(std::string{name}, value);
    return s;
}

// The worst severity found under this id; empty if there is none.
inline std::optional<severity> severity_of(const snapshot& s, std::string_view id) {
    std::optional<severity> worst;
    const auto all = judge(s);
    for (const auto& f : all)
        if (f.id == id) worst = std::max(worst.value_or(severity::ok), f.how_bad);
    return worst;
}

inline finding finding_of(const snapshot& s, std::string_view id) {
    const auto all = judge(s);
    const auto f = std::find_if(all.begin(), all.end(), [&](const auto& x) { return x.id == id; });
    return f == all.end() ? finding{} : *f;
}

}  // namespace holdfast::redis_backend::doctor
