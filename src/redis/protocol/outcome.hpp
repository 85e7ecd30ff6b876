// How a command ended, as passed to its handler.
#pragma once

#include "redis/protocol/reply.hpp"

#include <holdfast/callback.hpp>
#include <holdfast/types.hpp>

#include <string>
#include <system_error>
#include <variant>

namespace holdfast::redis {

using time_point = boot_clock::time_point;

// Why there is no reply: a code for programs, a sentence for people.
struct fault {
    std::error_code code;
    std::string text;
    // The URL may be right, but TLS with this server fails: its certificate is not accepted.
    bool not_trusted = false;
};
struct not_sent : fault {};   // the server never received the whole command, so it did not execute it
struct no_answer : fault {};  // it was or may have been sent, and no reply came: execution is unknown

// A reply may still be the server's refusal (reply::is_error); see errors.hpp for what it means.
using outcome = std::variant<reply, not_sent, no_answer>;

// Called exactly once, by the thread that reads the reply or finds that none will come, perhaps before the
// submitting call has returned. Short: never blocks, never throws, never calls run_io; may submit commands.
// The size suits what the stores keep until the reply.
using reply_handler = callback<void(outcome&&), 168>;

}  // namespace holdfast::redis
