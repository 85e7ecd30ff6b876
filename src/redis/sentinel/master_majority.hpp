// Decides by the answers of the sentinels which server is the master. Does no I/O and has no clock.
#pragma once

#include "redis/connection/handshake.hpp"
#include "redis/sentinel/sentinel_reply.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::redis {

// A majority of the configured sentinels must have answered, whether the others are reachable or not:
// sentinels across a network partition may have made another server the master. The answer with the highest
// config-epoch counts, because one sentinel leads a failover and the others learn of it a little later.
//
// A decision that goes back to an earlier epoch counts only when all sentinels have named a master (they were
// set up anew): otherwise the sentinels that know of the later epoch may just be unreachable.
class master_majority {
  public:
    // Time to wait for the other sentinels after a majority has answered: one of them may know more.
    static constexpr std::chrono::milliseconds grace{100};

    master_majority(std::string master, std::vector<host_port> sentinels);

    // Forgets all answers, or one, and waits for new ones.
    void await();
    void await(std::size_t sentinel);
    void take(std::size_t sentinel, sentinel_reply, time_point now);

    struct decision {
        enum class what {
            pending,  // answers are missing; count again at the next one, or at `look_again`
            agreed,   // `master`
            none,     // `why`
        } kind;
        host_port master;
        connect_failure why;
        time_point look_again = time_point::max();
    };
    [[nodiscard]] decision decide(time_point now);

  private:
    [[nodiscard]] std::size_t majority() const noexcept { return sentinels_.size() / 2 + 1; }
    [[nodiscard]] std::size_t number_of(sentinel_reply::what) const;
    [[nodiscard]] decision agree();
    [[nodiscard]] decision none() const;
    [[nodiscard]] std::string answers_text() const;

    const std::string master_;
    const std::vector<host_port> sentinels_;
    std::vector<std::optional<sentinel_reply>> answers_;  // by sentinel; empty: not yet received
    std::optional<time_point> majority_since_;            // when a majority had answered
    std::optional<sentinel_reply> agreed_;                // the last one
};

}  // namespace holdfast::redis
