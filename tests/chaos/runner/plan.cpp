#include "chaos/runner/plan.hpp"

#include "chaos/runner/dice.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace holdfast::chaos {

namespace {

using namespace std::chrono_literals;

struct trouble_row {
    trouble what;
    target_kind to;
    std::string_view name;
    milliseconds shortest, longest;  // for client_stops: see plan()
    std::uint64_t least, most;       // amount
};

constexpr trouble_row trouble_table[] = {
    {trouble::client_stops, target_kind::client, "client is stopped", 0ms, 0ms, 0, 0},
    {trouble::client_killed, target_kind::client, "client is killed", 0ms, 800ms, 0, 0},
    {trouble::link_cut, target_kind::link, "connections are cut", 0ms, 0ms, 0, 0},
    {trouble::link_stalls, target_kind::link, "nothing passes", 30ms, 1'800ms, 0, 0},
    {trouble::link_slow, target_kind::link, "answers are late", 100ms, 2'000ms, 1, 250},
    {trouble::link_refuses, target_kind::link, "connections are cut and refused", 10ms, 1'000ms, 0, 0},
    {trouble::reply_lost, target_kind::link, "a command is executed and its answer lost", 200ms, 200ms, 1,
     30},
    {trouble::command_lost, target_kind::link, "a command is lost", 200ms, 200ms, 1, 30},
    {trouble::messages_lost, target_kind::link, "messages are lost", 100ms, 1'500ms, 0, 0},
    {trouble::commands_held, target_kind::link,
     "half the answers are late, then those commands are held back", 800ms, 1'500ms, 70, 100},
    {trouble::server_stops, target_kind::server, "server is stopped", 30ms, 1'500ms, 0, 0},
    {trouble::server_killed, target_kind::server, "server is killed and started again", 0ms, 800ms, 0, 0},
    {trouble::clients_paused, target_kind::server, "clients are paused", 30ms, 1'200ms, 0, 0},
    {trouble::scripts_flushed, target_kind::server, "scripts are flushed", 0ms, 0ms, 0, 0},
    {trouble::connections_shut, target_kind::server, "the server closes connections", 0ms, 0ms, 0, 1},
    {trouble::memory_full, target_kind::server, "memory is full", 50ms, 1'500ms, 0, 0},
    {trouble::channels_denied, target_kind::server, "channels are denied", 50ms, 1'500ms, 0, 0},
    {trouble::server_emptied, target_kind::server, "server is killed and started again empty", 0ms, 800ms, 0,
     0},
    {trouble::wire_cut, target_kind::wire, "connections are cut", 0ms, 0ms, 0, 0},
    // Too short for the other servers to give the server up.
    {trouble::wire_stalls, target_kind::wire, "nothing passes", 30ms, 350ms, 0, 0},
    {trouble::wire_cut_soon, target_kind::wire, "connections are cut in the middle", 200ms, 200ms, 1, 2'000},
    {trouble::key_deleted, target_kind::lock, "its key is deleted", 0ms, 0ms, 0, 0},
    {trouble::holder_evicted, target_kind::lock, "its holders are evicted", 0ms, 0ms, 0, 0},
    {trouble::failover, target_kind::all_servers, "failover by order", 1'500ms, 3'000ms, 0, 99},
    {trouble::master_killed, target_kind::all_servers, "master is killed, then failover", 2'500ms, 3'500ms, 0,
     99},
    {trouble::master_stopped, target_kind::all_servers, "master is stopped, then failover", 2'500ms, 3'500ms,
     0, 99},
    {trouble::master_cut_off, target_kind::all_servers, "master is cut off, then failover", 2'500ms, 3'500ms,
     0, 99},
    {trouble::replicas_cut_then_lost, target_kind::all_servers,
     "replicas are cut off, then master is killed, then failover", 2'500ms, 3'500ms, 200, 1'500},  // ms
    {trouble::slot_moves, target_kind::all_servers, "slot moves", 20ms, 1'500ms, 0, 99},
    {trouble::follower_cut_off, target_kind::all_servers, "a follower is cut off from its leader", 2'500ms,
     6'000ms, 0, 99},
    {trouble::client_cut_off, target_kind::all_servers, "a client is cut off from all servers", 1'500ms,
     6'000ms, 0, 0},
    {trouble::quorum_lost, target_kind::all_servers, "most servers are killed and started again", 500ms,
     2'000ms, 0, 99},
    {trouble::write_held, target_kind::all_servers, "a write stands still", 30ms, 1'500ms, 0, 0},
    {trouble::foreign_lock, target_kind::all_servers, "another program has a lock file", 30ms, 1'500ms, 0,
     99},
    {trouble::row_held, target_kind::all_servers, "a row is locked", 30ms, 1'500ms, 0, 99},
    {trouble::database_stopped, target_kind::all_servers, "the database is stopped", 30ms, 1'500ms, 0, 0},
    {trouble::database_killed, target_kind::all_servers, "the database is killed and started again", 0ms,
     800ms, 0, 0},
    {trouble::session_crashed, target_kind::all_servers, "a session of the database crashes", 0ms, 0ms, 0, 0},
    {trouble::sessions_ended, target_kind::all_servers, "all sessions of the database are ended", 0ms, 0ms, 0,
     0},
    {trouble::all_stopped, target_kind::all_servers, "all servers are stopped", 300ms, 3'000ms, 0, 0},
    {trouble::mode_changes, target_kind::group, "the mode changes", 30ms, 1'500ms, 0, 0},
    {trouble::mode_keeps_changing, target_kind::group, "the mode keeps changing", 4'000ms, 8'000ms, 0, 0},
};

const trouble_row& row_of(trouble t) {
    return *std::find_if(std::begin(trouble_table), std::end(trouble_table),
                         [t](const trouble_row& r) { return r.what == t; });
}

std::string_view name_of(target_kind k) {
    switch (k) {
        case target_kind::client: return "client";
        case target_kind::link: return "link";
        case target_kind::server: return "server";
        case target_kind::wire: return "wire";
        case target_kind::lock: return "lock";
        case target_kind::all_servers: return "servers";
        case target_kind::group: return "group";
    }
    return "?";
}

}  // namespace

std::string_view to_string(trouble t) noexcept { return row_of(t).name; }
target_kind kind_of(trouble t) noexcept { return row_of(t).to; }

bool forgets(trouble t) noexcept {
    switch (t) {
        case trouble::server_emptied:
        case trouble::failover:
        case trouble::master_killed:
        case trouble::master_stopped:
        case trouble::master_cut_off:
        case trouble::replicas_cut_then_lost: return true;
        default: return false;
    }
}

std::span<const trouble> all_troubles() noexcept {
    static const auto all = [] {
        std::array<trouble, std::size(trouble_table)> t{};
        std::transform(std::begin(trouble_table), std::end(trouble_table), t.begin(),
                       [](const trouble_row& r) { return r.what; });
        return t;
    }();
    return all;
}

std::vector<planned> plan(std::uint64_t seed, std::uint64_t round, const shape& of) {
    std::vector<planned> all;
    const auto fill = [&](target_kind which, unsigned targets, milliseconds longest_gap) {
        std::vector<const trouble_row*> rows;
        for (const auto t : of.troubles) {
            if (row_of(t).to == which) rows.push_back(&row_of(t));
        }
        if (rows.empty()) return;
        for (unsigned target = 0; target < targets; ++target) {
            dice chance{seed, {round, static_cast<std::uint64_t>(which), target}};
            auto now = of.peace;
            for (;;) {
                now += chance.between(20ms, longest_gap * targets);
                const trouble_row& r = *rows[chance.below(rows.size())];
                const bool stop = r.what == trouble::client_stops;
                const auto length =
                    chance.between(stop ? of.lease / 10 : r.shortest, stop ? of.lease * 3 : r.longest);
                if (now + length > of.length) break;
                all.push_back(
                    {now, now + length, r.what, target, r.least + chance.below(r.most - r.least + 1)});
                now += length;
            }
        }
    };
    fill(target_kind::client, of.clients, 900ms);
    if (round % 3 == 1 && of.locks > 0) {
        fill(target_kind::lock, of.locks, 100ms);
    } else {
        fill(target_kind::link, of.links, 1'200ms);
        fill(target_kind::server, of.servers, 1'500ms);
        fill(target_kind::wire, of.wires, 1'200ms);
        fill(target_kind::all_servers, 1, 1'500ms);
        fill(target_kind::group, 1, 1'500ms);
    }
    for (auto& p : all)
        if (p.what == trouble::mode_keeps_changing) p.amount = of.mode_changes;
    std::stable_sort(all.begin(), all.end(),
                     [](const planned& a, const planned& b) { return a.from < b.from; });
    return all;
}

std::string describe(const planned& p) {
    const trouble_row& r = row_of(p.what);
    const std::string whom{name_of(r.to)};
    std::array<char, 160> text{};
    std::snprintf(text.data(), text.size(), "%.3f .. %.3f s  %s %u: %s",
                  static_cast<double>(p.from.count()) / 1000, static_cast<double>(p.to.count()) / 1000,
                  whom.c_str(), p.target, std::string{r.name}.c_str());
    std::string line = text.data();
    if (p.amount > 0) line += " (" + std::to_string(p.amount) + ")";
    return line;
}

}  // namespace holdfast::chaos
