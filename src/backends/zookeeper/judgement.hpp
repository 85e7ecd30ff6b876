// How the doctor judges what an ensemble tells about itself. Pure.
#pragma once

#include "store/inspection.hpp"
#include "zookeeper/server_words.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::zookeeper_backend {

struct ensemble_state {
    std::optional<std::string> config;  // the node /zookeeper/config
    std::string config_refused{};       // why it could not be read
    backend::milliseconds session{0};   // as the servers grant it
    backend::milliseconds tick{0};      // as the URL says
    backend::milliseconds lease{0};     // as locks ask for
    std::vector<zookeeper::told> servers{};

    // The directory of a lock that has given out the most numbers; empty: there is none.
    std::string busiest{};
    std::int64_t numbers = 0;
    std::string numbers_refused{};  // why they could not be read
};

[[nodiscard]] examination judge(const ensemble_state&);

// How many servers have a vote, as the node /zookeeper/config lists them; 0: it lists none, as a single
// server does.
[[nodiscard]] std::size_t voters_in(std::string_view config);
// How many numbers a directory has given to its children. At 2^31 they stick.
[[nodiscard]] std::int64_t numbers_given(const zookeeper::stat&) noexcept;

}  // namespace holdfast::zookeeper_backend
