// The rights (ACL) that locks need, and those that the client itself needs.
#pragma once

#include "backends/redis/url/lock_url.hpp"
#include "store/inspection.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::redis_backend::doctor {

// What a lock loses without the right.
enum class importance : std::uint8_t {
    option,  // nothing, unless an option needs the right
    helps,   // speed: waiters poll
    needed,  // everything: it is refused
};

// A key or a channel of a lock, and its pattern in an ACL rule.
struct resource {
    std::string name;
    std::string pattern;
    importance how = importance::needed;
};

struct required_acls {
    std::optional<backend::kind> of;  // empty: the client itself, whatever it locks
    std::string shown;                // "recursive_mutex", "failover=grace"
    std::string without;              // for the client itself: the effect of a missing right
    std::vector<std::pair<std::string, importance>> commands;
    std::vector<resource> keys;
    std::optional<resource> channel;
};

// The needs of a lock of this name, for each kind; with `part` only for the kinds of the store that the
// server is a part of.
[[nodiscard]] std::vector<required_acls> required_acls_of(
    const std::string& name, const std::optional<backend::membership>& part = {});
// The needs of the client itself, by the options of its URL.
[[nodiscard]] std::vector<required_acls> own_required_acls(const backend::examine_request&,
                                                           const quarantine_rules&);

// The bytes of a name as an ACL pattern that matches it: glob characters escaped; what a rule cannot hold
// (spaces, control characters) becomes '?', which matches any one byte.
[[nodiscard]] std::string as_pattern(std::string_view name);

}  // namespace holdfast::redis_backend::doctor
