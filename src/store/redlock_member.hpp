// What a redlock asks of the stores that are its members, beside locks.
#pragma once

#include "store/requests.hpp"

#include <string>

namespace holdfast::backend {

// Requests as in store.hpp.
class redlock_member {
  public:
    redlock_member() = default;
    redlock_member(const redlock_member&) = delete;
    redlock_member& operator=(const redlock_member&) = delete;
    virtual ~redlock_member() = default;

    // The whole text under the key of a mutex, as its owner wrote it; empty if there is none.
    virtual void read_owner(const lock_name&, time_point deadline, handler<result<std::string>>) = 0;

    // How long the server has at least been the master that `promotion` (see notice) made of it, as its
    // clients know: the first that asks leaves a note there, and all count from that. Zero where there is
    // none.
    enum class note { left, looked_for };
    virtual void age_of_promotion(const std::string& promotion, note, time_point deadline,
                                  handler<result<milliseconds>>) = 0;
};

}  // namespace holdfast::backend
