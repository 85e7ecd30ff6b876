// Threads that for a while do anything to locks, and count under them. redisson/Soak.java does the same in
// Java. The threads of redis-py, redsync and node-redlock are told what to do, and counted for, by a process
// of ours that drives theirs.
//
// Each turn takes one of the kinds, as a writer or (shared only) as a reader, by a try, a timed try with or
// without a lease, or by waiting with or without a lease; sometimes it locks twice. A writer reads the
// counter and writes the next number, together with an increment of the tally; so the two differ at the end
// if ever two were inside, and only then: whoever is killed in between has written both or none. A reader
// reads the counter twice, and complains if it changed.
#pragma once

#include "interop/kinds.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::test {

// Those that take part: "holdfast", versions of Redisson, and clients that poll.
inline const std::string ourselves = "holdfast";
inline const std::vector<std::string> redissons{late_redisson_3, newest_redisson};
inline const std::vector<std::string> pollers{"redis_py", "redsync", "node_redlock"};

struct soak_plan {
    std::vector<std::string> kinds;   // recursive, fair, fenced, shared; or mutex
    std::vector<std::string> others;  // a process each, beside two of ours
    std::chrono::milliseconds time;
    int threads = 8;
    // Between two turns of ours, at most: who polls gets in only while nobody of ours waits.
    std::chrono::milliseconds pause{0};
    // Of those who do not give a lease as well. Whoever was killed keeps the others out for so long.
    std::chrono::milliseconds lease{2'000};

    friend std::ostream& operator<<(std::ostream& out, const soak_plan& plan) {
        for (const auto& kind : plan.kinds) out << kind << ' ';
        return out;
    }
};

// Keys: the lock is "soak:<kind>", beside it ":counter" and ":tally", and ":holdfast" and the like count the
// turns of each; ":java" those of all versions of Redisson.
[[nodiscard]] inline std::string soak_name(const std::string& kind) { return "soak:" + kind; }

// The lock, its writers' side if it has two.
[[nodiscard]] any_lock soak_lock(client& c, const std::string& kind);

// Runs in a process of its own, as one of us or through one of the pollers; reports "done" or what went
// wrong.
int soak(const parent_link& parent, const soak_plan& plan, const std::string& who);

}  // namespace holdfast::test
