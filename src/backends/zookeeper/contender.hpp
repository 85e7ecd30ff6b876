// One owner that wants or holds a lock, and its node.
#pragma once

#include "store/requests.hpp"

#include <holdfast/callback.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::zookeeper_backend {

// The requests for one owner are carried out one after another: the second may come before the first is
// answered. Only the request under way uses the node; what other threads use is below.
struct contender {
    // Receives the contender.
    using request = callback<void(const std::shared_ptr<contender>&)>;

    contender(backend::lock_key k, owner_id o, std::string dir)
        : key(std::move(k)), owner(std::move(o)), directory(std::move(dir)) {}

    const backend::lock_key key;
    const owner_id owner;
    const std::string directory;  // of its node; for a semaphore: of the line

    std::string name;          // of its node; empty: it has none, as far as we know
    std::int64_t session = 0;  // that the node belongs to; 0: none
    std::int64_t czxid = 0;    // the transaction that created it
    std::int64_t ctime = 0;    // when that was, in milliseconds since 1970 by the leader's clock
    std::uint64_t fence = 0;   // that is written down for it; 0: none
    bool uncertain = false;    // a node may exist: its creation, or deletion, was not answered
    bool followed = false;     // others waited behind it when it was last listed
    std::string holder;        // the owner it waits for, when it was last listed

    std::vector<std::string> permits;  // of a semaphore: the paths of its nodes. It has left the line by then
    bool permits_uncertain = false;    // these nodes may exist: their creation was not answered

    [[nodiscard]] std::string path() const { return directory + '/' + name; }
    // All its nodes.
    [[nodiscard]] std::vector<std::string> nodes() const {
        auto all = permits;
        if (!name.empty()) all.push_back(path());
        return all;
    }
    [[nodiscard]] bool has_nothing() const {
        return name.empty() && permits.empty() && !uncertain && !permits_uncertain;
    }
    void forget() {
        name.clear();
        permits.clear();
        session = czxid = ctime = 0;
        fence = 0;
        uncertain = permits_uncertain = followed = false;
    }

    // --- guarded by contention's mutex ------------------------------------------------------------------
    bool busy = false;              // a request is under way
    std::deque<request> next;       // requests that wait for its end
    std::uint64_t watched_on = 0;   // the connection on which it watches other nodes; 0: none
    bool doomed = false;            // its nodes are to be deleted, and that was not answered
    std::vector<std::string> held;  // the paths of its nodes while it holds the lock; else empty
    std::int32_t data_version = 0;  // of its node, unless somebody else has written to it
};

}  // namespace holdfast::zookeeper_backend
