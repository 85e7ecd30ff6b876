// Until when the ensemble keeps a session for certain: arithmetic without I/O.
#pragma once

#include <holdfast/types.hpp>

#include <chrono>
#include <deque>
#include <optional>

namespace holdfast::zookeeper {

using time_point = boot_clock::time_point;
using std::chrono::milliseconds;

// Only the leader ends sessions, and a follower that is cut off from it goes on answering pings and reads. So
// three requests on one connection prove that the leader knew the session to be alive:
//
//   A  any request that was answered: the follower has noted that the session is alive
//   B  a write that was sent at least a tick after A's answer, and was committed: the leader has pinged the
//      follower between A and B's commit, and a majority still followed this leader after B was sent
//   C  a sync that was sent after B's answer: the follower's note of A reached the leader before C did
//
// When C is answered, the leader keeps the session at least until the time when A was sent plus the session's
// timeout. A session that was just created or moved to another server was touched at the leader itself, so
// its login is an A without a tick.
//
// Not thread-safe. Times never go back.
class session_proof {
  public:
    // `safe_timeout`: the session's timeout less what clocks may drift. `tick`: no less than the servers'.
    void attached(time_point login_sent, boot_clock::duration safe_timeout, milliseconds tick);
    // The connection is lost: what was learned on it proves nothing about the next one.
    void detached();

    // Any request was answered.
    void answered(time_point sent, time_point now);
    // A write was committed.
    void written(time_point sent);

    // Call it just before a sync is sent, and `proven` with its result when the sync is answered. Empty: no
    // write followed an answered request by a tick yet.
    struct started {
        time_point alive;  // when A was sent
    };
    [[nodiscard]] std::optional<started> start_sync() const { return latest_; }
    // Until when the session lasts.
    [[nodiscard]] time_point proven(const started& by) const { return by.alive + safe_timeout_; }

  private:
    struct sign_of_life {
        time_point sent;
        time_point counts_from;  // writes that are sent from then on
    };

    boot_clock::duration safe_timeout_{0};
    milliseconds tick_{0};
    std::deque<sign_of_life> signs_;  // in the order of both times
    std::optional<started> latest_;
};

}  // namespace holdfast::zookeeper
