// Decides by the answers of the sentinels which server is the master. Does no I/O and has no clock.
#pragma once

#include "redis/handshake.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::redis {

// The answer of one sentinel.
struct testimony {
    enum class what {
        names,         // the master is at `master` since failover number `epoch`
        unknown_name,  // it watches no master of that name
        refuses,       // it refuses us as we are configured
        no_sentinel,   // it does not know the command
        silent,        // unreachable, or no usable answer
    } kind = what::silent;
    host_port master{};
    std::uint64_t epoch = 0;
    fault why{};  // for the last three
};

// A majority of the configured sentinels must have answered, whether the others are reachable or not:
// sentinels across a network partition may have made another server the master. The answer with the highest
// config-epoch counts, because one sentinel leads a failover and the others learn of it a little later.
//
// A verdict that goes back to an earlier epoch counts only when all sentinels have named a master (they were
// set up anew): otherwise the sentinels that know of the later epoch may just be unreachable.
class ballot {
  public:
    // Time to wait for the other sentinels after a majority has answered: one of them may know more.
    static constexpr std::chrono::milliseconds grace{100};

    ballot(std::string master, std::vector<host_port> sentinels);

    // Forgets all answers, or one, and waits for new ones.
    void open();
    void open(std::size_t sentinel);
    void hear(std::size_t sentinel, testimony, time_point now);

    struct verdict {
        enum class what {
            open,     // answers are missing; count again at the next one, or at `look_again`
            elected,  // `master`
            none,     // `why`
        } kind;
        host_port master;
        connect_failure why;
        time_point look_again = time_point::max();
    };
    [[nodiscard]] verdict count(time_point now);

  private:
    [[nodiscard]] std::size_t majority() const noexcept { return sentinels_.size() / 2 + 1; }
    [[nodiscard]] std::size_t said(testimony::what) const;
    [[nodiscard]] verdict elect();
    [[nodiscard]] verdict none() const;
    [[nodiscard]] std::string answers_text() const;

    const std::string master_;
    const std::vector<host_port> sentinels_;
    std::vector<std::optional<testimony>> answers_;  // by sentinel; empty: not yet received
    std::optional<time_point> majority_since_;       // when a majority had answered
    std::optional<testimony> elected_;               // the last one
};

}  // namespace holdfast::redis
