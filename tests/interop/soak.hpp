// Threads that use locks in random ways for a while, and count under them. redisson/Soak.java does the same
// in Java. For redis-py, redsync and node-redlock, a holdfast process drives their threads and counts.
//
// Each turn takes one of the kinds, as a writer or (shared only) as a reader, by a try, a timed try with or
// without a lease, or by a wait with or without a lease; sometimes it locks twice. A writer reads the counter
// and writes the next number, together with an increment of the tally. So the two differ at the end if and
// only if two writers were ever inside: a process that is killed in between has written both or none. A
// reader reads the counter twice, and reports an error if it changed.
#pragma once

#include "interop/kinds.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::test {

// The participants: "holdfast", versions of Redisson, and clients that poll.
inline const std::string ourselves = "holdfast";
inline const std::vector<std::string> redissons{late_redisson_3, newest_redisson};
inline const std::vector<std::string> pollers{"redis_py", "redsync", "node_redlock"};

struct soak_plan {
    std::vector<std::string> kinds;   // recursive, fair, fenced, shared; or mutex
    std::vector<std::string> others;  // a process each, beside two of holdfast
    std::chrono::milliseconds time;
    int threads = 8;
    // The longest pause between two turns of holdfast: pollers get in only while no holdfast thread waits.
    std::chrono::milliseconds pause{0};
    // Used also by locks that name no lease. A killed holder blocks the others for this time.
    std::chrono::milliseconds lease{2'000};

    friend std::ostream& operator<<(std::ostream& out, const soak_plan& plan) {
        for (const auto& kind : plan.kinds) out << kind << ' ';
        return out;
    }
};

// Keys: the lock is "soak:<kind>", with ":counter" and ":tally" beside it. ":holdfast" and the like count the
// turns of each client, ":java" those of all versions of Redisson.
[[nodiscard]] inline std::string soak_name(const std::string& kind) { return "soak:" + kind; }

// The lock; its write side if it has two.
[[nodiscard]] any_lock soak_lock(client& c, const std::string& kind);

// Runs in a process of its own, as a holdfast client or through one of the pollers; reports "done" or an
// error.
int soak(const parent_link& parent, const soak_plan& plan, const std::string& who);

}  // namespace holdfast::test
