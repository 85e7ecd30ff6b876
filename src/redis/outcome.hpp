// How a command ended, as its handler is told.
#pragma once

#include "redis/reply.hpp"

#include <holdfast/callback.hpp>
#include <holdfast/types.hpp>

#include <string>
#include <system_error>
#include <variant>

namespace holdfast::redis {

using time_point = boot_clock::time_point;

// Why there is no reply: a code to decide by, a sentence for people.
struct fault {
    std::error_code code;
    std::string text;
    // The URL may be right, but TLS with this server is not to be had: its certificate is not accepted.
    bool not_trusted = false;
};
struct not_sent : fault {};   // the server never saw the whole command: it was not carried out
struct no_answer : fault {};  // it was sent, or may have been, and no reply came: nobody knows

// A reply may still be the server's refusal (reply::is_error); see errors.hpp for what it means.
using outcome = std::variant<reply, not_sent, no_answer>;

// Called exactly once, by whichever thread reads the reply or finds that none will come, perhaps
// before the submitting call has returned. Short: never blocks, never throws, never calls drive;
// may submit further commands.
// The room suits what the stores keep until the answer.
using reply_handler = callback<void(outcome&&), 168>;

}  // namespace holdfast::redis
