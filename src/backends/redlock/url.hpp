// The URL of a redlock: its settings and its members.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redlock_backend {

using std::chrono::milliseconds;

struct member_url {
    std::string url;
    std::string address;  // host:port[/db] or unix:/path; shown to people and written into the membership
                          // key; without password
};

struct redlock_config {
    // Total time to wait for the replies of all members: much less than a lease, much more than a round trip.
    milliseconds node_timeout{50};
    // The longest lease that is granted, and the time for which a restarted member has no vote.
    milliseconds longest_lease{60'000};
    bool quarantine = true;
    std::string name;  // distinguishes sets of members that share servers
    std::vector<member_url> members;
};

//   redlock:[option=value,...]URL,URL,URL,...
// Options: node_timeout, longest_lease, restarts=quarantined|trusted, name. 3 to 15 members, each a single
// server (redis://, rediss://, unix://) or a master behind Sentinel (redis+sentinel://, rediss+sentinel://).
// A comma begins a new URL only if a scheme and "://" follow. Throws holdfast::error (errc::invalid_argument)
// with a sentence that names the bad part, and never a password.
[[nodiscard]] redlock_config parse_url(std::string_view url);

}  // namespace holdfast::redlock_backend
