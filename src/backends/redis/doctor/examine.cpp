#include "backends/redis/doctor/examine.hpp"

#include "backends/redis/doctor/checks.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::redis_backend::doctor {

namespace {

examined_server server_of(const snapshot& s) {
    examined_server server;
    server.address = s.address();
    server.version = s.field("redis_version").value_or("");
    if (const auto valkey = s.field("valkey_version")) server.version = "Valkey " + std::string{*valkey};
    server.role = s.as == part::sentinel ? "sentinel" : std::string{s.field("role").value_or("")};
    server.run_id = s.field("run_id").value_or("");
    if (const auto clock = s.best_clock()) {
        server.clock_offset = clock->offset();
        server.clock_error = clock->error();
        server.round_trip = clock->round_trip();
    }
    return server;
}

std::vector<finding> unreachable(const server_result& one, const backend::failure& why) {
    report r{one.address};
    const bool locks_are_there = one.as == part::addressed || one.as == part::master;
    r.add(locks_are_there ? severity::danger : severity::warning, "unreachable", why.in_one());
    return std::move(r).findings();
}

bool of_the_whole(std::string_view id) { return id.starts_with("cluster-") || id.starts_with("sentinel-"); }

}  // namespace

void add_to(examination& all, const server_result& one) {
    // check_sentinel_agreement.cpp reports absent sentinels.
    const auto* const why = std::get_if<backend::failure>(&one.found);
    if (why != nullptr && one.as == part::sentinel) return;
    if (why == nullptr) all.servers.push_back(server_of(std::get<snapshot>(one.found)));
    for (auto& f : why != nullptr ? unreachable(one, *why) : judge(std::get<snapshot>(one.found))) {
        const bool known =
            of_the_whole(f.id) &&
            std::any_of(all.findings.begin(), all.findings.end(), [&](const auto& other) {
                return other.id == f.id && other.how_bad == f.how_bad && other.found == f.found;
            });
        if (!known) all.findings.push_back(std::move(f));
    }
}

void examine_server(redis::node& node, const query& i, examination_handler done) {
    ask(node, i, [as = i.as, done = std::move(done)](snapshot_result found) {
        if (auto* no = std::get_if<backend::failure>(&found)) return done(std::move(*no));
        examination one;
        add_to(one, {{}, as, std::move(found)});
        done(std::move(one));
    });
}

}  // namespace holdfast::redis_backend::doctor
