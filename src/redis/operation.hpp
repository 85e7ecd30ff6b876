// A command on its way, and what its submitter asked for.
#pragma once

#include "redis/outcome.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

// One or several encoded commands that must not be torn apart.
struct request {
    std::string bytes;
    time_point deadline;
    reply_handler done;
    // Several commands are answered by one array of their replies, in order.
    unsigned replies = 1;
    // The text of the script, if `bytes` is one EVALSHA: sent in full should the server not have it.
    std::string_view script{};
};

// Lives on the heap and belongs to the link, so that a caller who gives up just goes.
struct operation {
    request what;
    bool driven = false;              // its thread is on its way into drive()
    std::vector<reply> so_far;        // of several replies
    time_point sent_at{};
    std::uint64_t first_byte = 0;     // its place in the connection's stream
    std::uint64_t past_last_byte = 0;

    // The server cannot have carried out any of it: the last byte of its one command, or the first of
    // several, was not given to the kernel.
    [[nodiscard]] bool untouched(std::uint64_t bytes_sent) const noexcept {
        return so_far.empty() && (what.replies == 1 ? past_last_byte > bytes_sent : first_byte >= bytes_sent);
    }

    void finish(outcome o) noexcept {
        if (what.done) what.done(std::move(o));
    }
};

}  // namespace holdfast::redis
