// Orders to a server, as its operator gives them.
#pragma once

#include "support/redis_server.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::chaos {

// What the server refuses is a mistake of this program. Said again if the connection ends: sentinels close
// those of a server that they give another role. So only what may be done twice.
inline void order(test::redis_server& server, const std::vector<std::string>& words) {
    const auto say = [&] {
        const auto answer = server.command(words);
        if (answer.is_error()) throw std::logic_error{words.front() + ": " + answer.text};
    };
    try {
        say();
    } catch (const std::runtime_error&) {
        say();
    }
}

}  // namespace holdfast::chaos
