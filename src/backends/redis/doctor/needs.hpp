// Which rights (ACL) locks need, and what the client itself needs beside them.
#pragma once

#include "redis/config.hpp"
#include "store/inspection.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::redis_backend::doctor {

// What a lock is without it.
enum class importance : std::uint8_t {
    option,  // as it is, unless an option of its own asks for it
    helps,   // poorer: waiters poll
    needed,  // refused
};

// A key or a channel of a lock, and the pattern that an ACL rule has for it.
struct resource {
    std::string name;
    std::string pattern;
    importance how = importance::needed;
};

struct needs {
    std::optional<backend::kind> of;  // empty: the client itself, whatever it locks
    std::string shown;                // "recursive_mutex", "failover=grace"
    std::string without;              // of the client itself: what comes of it
    std::vector<std::pair<std::string, importance>> commands;
    std::vector<resource> keys;
    std::optional<resource> channel;
};

// Those of all kinds for a lock of this name; of those alone that the store has of which this server is a
// part.
[[nodiscard]] std::vector<needs> needs_of(const std::string& name,
                                          const std::optional<backend::membership>& part = {});
// Those of the client itself, as the options of its URL have it.
[[nodiscard]] std::vector<needs> own_needs(const backend::examine_request&, const redis::quarantine_config&);

// The commands that a script calls: "ZADD", and whether the script goes on when one is refused.
[[nodiscard]] std::vector<std::pair<std::string, importance>> commands_of(std::string_view script);

// The bytes of a name as an ACL pattern that matches it: glob characters escaped; what a rule cannot hold
// (spaces, control characters) becomes '?', which matches any one byte.
[[nodiscard]] std::string as_pattern(std::string_view name);

}  // namespace holdfast::redis_backend::doctor
