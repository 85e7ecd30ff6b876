// What a server reports about itself when a connection is made.
#pragma once

#include "io/tls.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace holdfast::redis {

// Fields are empty if the server does not report them (INFO may be forbidden).
struct server_info {
    std::string address;               // as written by address_text()
    int db = 0;                        // the one we selected
    std::string user;                  // as which we logged in
    bool authenticated = false;        // we sent a password
    std::optional<io::tls_state> tls;  // empty: plaintext
    std::string run_id;                // changes with every start of the server
    std::string version;               // "7.0.15"; Valkey reports 7.2.4, for clients that expect Redis
    std::string valkey;                // "9.1.2"; empty: not Valkey
    std::chrono::seconds uptime{0};
    std::string maxmemory_policy;  // any but "noeviction" may drop keys
    std::string role;              // "master" or "slave"
    std::string replid;            // names its history as a master: new with every promotion
    std::string follows;           // of a replica: its master's address
    bool promoted = false;         // it was once a replica; until when is not known

    // Product and version, for people.
    [[nodiscard]] std::string product() const {
        return valkey.empty() ? "Redis " + version : "Valkey " + valkey;
    }

    // Identifies this promotion of this run: another master, or another promotion, has another name.
    [[nodiscard]] std::string promotion() const { return run_id + ':' + replid; }
};

}  // namespace holdfast::redis
