// The requests of a redlock to its members, besides locks.
#pragma once

#include "store/requests.hpp"

#include <string>

namespace holdfast::backend {

// Requests work as in store.hpp.
class redlock_member {
  public:
    redlock_member() = default;
    redlock_member(const redlock_member&) = delete;
    redlock_member& operator=(const redlock_member&) = delete;
    virtual ~redlock_member() = default;

    // The whole text under the key of a mutex, as its owner wrote it; empty if there is none.
    virtual void read_owner(const lock_name&, time_point deadline, handler<result<std::string>>) = 0;

    // How long, at least, the server has been the master since `promotion` (see notice). The first client
    // that asks with note::left leaves a note there, and all clients count from that note. Zero if there is
    // no note.
    enum class note { left, looked_for };
    virtual void age_of_promotion(const std::string& promotion, note, time_point deadline,
                                  handler<result<milliseconds>>) = 0;
};

}  // namespace holdfast::backend
