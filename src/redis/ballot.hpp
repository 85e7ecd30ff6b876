// Which server is the master, by what the sentinels say. Decides, does no I/O and has no clock.
#pragma once

#include "redis/handshake.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::redis {

// What one sentinel said.
struct testimony {
    enum class what {
        names,         // the master is at `master`, since the failover number `epoch`
        unknown_name,  // it watches no master of that name
        refuses,       // it does not want us as we are configured
        no_sentinel,   // it does not know what we ask for
        silent,        // nobody there, or no answer that can be used
    } kind = what::silent;
    host_port master{};
    std::uint64_t epoch = 0;
    fault why{};  // of the last three
};

// A majority of the sentinels that are configured must have answered, whether the others are there or not:
// those on the other side of a cut network may have made another server the master. Among the answers the
// highest config-epoch counts, for one sentinel leads a failover and the others hear of it a little later.
//
// A verdict that would lead back to an earlier epoch counts only when all sentinels agree to it (they were
// set up anew): otherwise those with the news just cannot be reached.
class ballot {
  public:
    // How long the others are waited for once a majority has answered: one of them may know more.
    static constexpr std::chrono::milliseconds grace{100};

    ballot(std::string master, std::vector<host_port> sentinels);

    // Forgets the answers, all or one, and waits for new ones.
    void open();
    void open(std::size_t sentinel);
    void hear(std::size_t sentinel, testimony, time_point now);

    struct verdict {
        enum class what {
            open,     // answers are missing; count again when one comes, or at `look_again`
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
    std::vector<std::optional<testimony>> answers_;  // of each sentinel; empty: it is still to come
    std::optional<time_point> majority_since_;       // has answered
    std::optional<testimony> elected_;               // last
};

}  // namespace holdfast::redis
