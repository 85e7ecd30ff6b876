// The URL of a redlock: its settings and its members.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::quorum_backend {

using std::chrono::milliseconds;

struct member_url {
    std::string url;
    std::string address;  // host:port[/db] or unix:/path; for people and for the mark, without a secret
};

struct quorum_config {
    // For the answers of all members together. Small against the lease, large against a round trip.
    milliseconds node_timeout{50};
    // Nobody may hold a lock for longer at a time; for so long a restarted member is not counted.
    milliseconds longest_lease{60'000};
    bool quarantine = true;
    std::string name;  // tells this set of members from others that share servers with it
    std::vector<member_url> members;
};

//   redlock:[option=value,...]URL,URL,URL,...
// Options: node_timeout, longest_lease, restarts=quarantined|trusted, name. 3 to 15 members, each a single
// server (redis://, rediss://, unix://) or a master behind Sentinel (redis+sentinel://, rediss+sentinel://).
// A comma begins a new URL only if a scheme and "://" follow. Throws holdfast::error (errc::invalid_argument)
// with a sentence that names the bad part, and never a password.
[[nodiscard]] quorum_config parse_url(std::string_view url);

}  // namespace holdfast::quorum_backend
