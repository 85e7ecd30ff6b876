// The schedule of faults. It follows from the seed: the same seed makes the same schedule.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::chaos {

using std::chrono::milliseconds;

enum class trouble : std::uint8_t {
    // clients
    client_stops,   // SIGSTOP, 0.1 to 3 leases long
    client_killed,  // SIGKILL; another client takes its place
    // links
    link_cut,       // all connections end
    link_stalls,    // nothing passes in either direction
    link_slow,      // answers come later
    link_refuses,   // no new connections, and the old ones end
    reply_lost,     // executed; the answer is lost with its connection
    command_lost,   // not executed; its connection ends
    messages_lost,  // published messages reach no client
    commands_held,  // of half the connections, while answers to earlier ones are still on their way
    // servers
    server_stops,      // SIGSTOP
    server_killed,     // SIGKILL, and started with all its data
    clients_paused,    // CLIENT PAUSE
    scripts_flushed,   // SCRIPT FLUSH
    connections_shut,  // CLIENT KILL of all, or of subscribers
    memory_full,       // commands that need memory fail
    channels_denied,   // no right to publish and to subscribe
    server_emptied,    // SIGKILL, and started without its data
    // wires: links that do not parse commands; servers reach each other over them, too
    wire_cut,
    wire_stalls,
    wire_cut_soon,  // in the middle of an answer
    // locks
    key_deleted,
    holder_evicted,  // by an operator, who receives the outcome
    // all servers together, one fault at a time; the topology carries it out
    failover,                // as an operator asks for it: the former master lives
    master_killed,           // and a replica becomes the master; it comes back
    master_stopped,          // the same, SIGSTOP: it comes back as it was
    master_cut_off,          // the same, and it goes on by itself meanwhile
    replicas_cut_then_lost,  // the replicas miss what the master grants; then it is killed
    slot_moves,              // the slot of a lock moves to another master
    follower_cut_off,        // from its master, while clients still reach it
    client_cut_off,          // the first client, from all servers: nothing passes
    quorum_lost,             // most servers are killed; they come back
    write_held,              // a process stands still in the middle of a write to the file
    foreign_lock,            // another program has a lock file
    row_held,                // a foreign transaction keeps the row of a lock locked
    database_stopped,        // SIGSTOP to all processes of the server
    database_killed,         // SIGKILL, and started again: it recovers
    session_crashed,         // SIGKILL to one session of the server, which then recovers
    sessions_ended,          // all sessions of the server, by an operator
    all_stopped,             // SIGSTOP to all servers
    // the group of all clients
    mode_changes,         // locks move from one store to the other
    mode_keeps_changing,  // to and fro, each change a whole one
};
[[nodiscard]] std::string_view to_string(trouble t) noexcept;
[[nodiscard]] std::span<const trouble> all_troubles() noexcept;

// The target of a fault.
enum class target_kind : std::uint8_t { client, link, server, wire, lock, all_servers, group };
[[nodiscard]] target_kind kind_of(trouble t) noexcept;
// Afterwards a server may serve that lacks acknowledged writes.
[[nodiscard]] bool forgets(trouble t) noexcept;

struct planned {
    milliseconds from{};
    milliseconds to{};
    trouble what{};
    unsigned target = 0;       // which client, link, server, wire or lock
    std::uint64_t amount = 0;  // milliseconds, bytes, the nth command, changes of the run, or a choice

    friend bool operator==(const planned&, const planned&) = default;
};

struct shape {
    unsigned clients = 4;
    unsigned links = 1;
    unsigned servers = 1;
    unsigned wires = 0;
    unsigned locks = 1;              // whose keys may be deleted
    std::uint64_t mode_changes = 0;  // at most, in the whole run, while the mode keeps changing
    milliseconds lease{600};
    milliseconds length{10'000};  // of a round; all is well again at its end
    // The first part of a round has no faults: then a "no" can be judged.
    milliseconds peace{1'500};
    std::vector<trouble> troubles{all_troubles().begin(), all_troubles().end()};
};

// Sorted by their beginning. Faults of different targets overlap; each target has one at a time. Where keys
// may be deleted, each third round does that, and nothing to links and servers: much is not promised then,
// and renewals must come through.
[[nodiscard]] std::vector<planned> plan(std::uint64_t seed, std::uint64_t round, const shape& of);

// "0.512 .. 1.024 s  server 0 is stopped".
[[nodiscard]] std::string describe(const planned& p);

}  // namespace holdfast::chaos
