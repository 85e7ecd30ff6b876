// One attempt of an owner, while it is under way.
#pragma once

#include "backends/zookeeper/contention.hpp"

namespace holdfast::zookeeper_backend {

struct contention::attempting {
    backend::attempt_request request;
    backend::time_point deadline;
    backend::handler<backend::attempt_answer> done;

    // The directory and the nodes in it come and go meanwhile.
    static constexpr unsigned most_rounds = 100;
    unsigned rounds = 0;        // listings, and creations
    bool wrote = false;         // a write of this attempt was committed, which proves as much as a check
    bool repeated = true;       // the node was there before
    unsigned parents_made = 0;  // how often
    bool parents_missing = false;
    bool no_latch = false;   // the data of the directory were read, and are none of a latch
    std::string writer{};    // the node of the writer, if it wants to read as well
    bool set_total = false;  // of a semaphore: this attempt did
};

}  // namespace holdfast::zookeeper_backend
