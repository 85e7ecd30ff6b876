// Commands to a server, as its operator gives them.
#pragma once

#include "support/redis_server.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::chaos {

// A command that the server refuses is a mistake of this program. It is sent again if the connection ends:
// sentinels close the connections of a server that they give another role. So use it only for commands that
// may run twice.
inline void order(test::redis_server& server, const std::vector<std::string>& words) {
    const auto send = [&] {
        const auto answer = server.command(words);
        if (answer.is_error()) throw std::logic_error{words.front() + ": " + answer.text};
    };
    try {
        send();
    } catch (const std::runtime_error&) {
        send();
    }
}

}  // namespace holdfast::chaos
