// What a server says of itself when a connection is made.
#pragma once

#include "io/tls.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace holdfast::redis {

// Fields are empty when the server would not tell (INFO may be forbidden).
struct server_info {
    std::string address;               // as address_text() writes it
    int db = 0;                        // that we chose
    std::string user;                  // as whom we came
    bool authenticated = false;        // we came with a password
    std::optional<io::tls_state> tls;  // empty: plaintext
    std::string run_id;                // changes with every start of the server
    std::string version;               // "7.0.15"; Valkey says 7.2.4, for clients that ask for Redis
    std::string valkey;                // "9.1.2"; empty: it is no Valkey
    std::chrono::seconds uptime{0};
    std::string maxmemory_policy;  // anything but "noeviction" may drop keys
    std::string role;              // "master" or "slave"
    std::string replid;            // of its history as a master: new with every promotion
    std::string follows;           // of a replica: its master's address
    bool promoted = false;         // it was a replica once, nobody can say until when

    // What it is, for people.
    [[nodiscard]] std::string product() const {
        return valkey.empty() ? "Redis " + version : "Valkey " + valkey;
    }

    // Names this promotion of this run: what came from another master, or is of another time, has another
    // name.
    [[nodiscard]] std::string promotion() const { return run_id + ':' + replid; }
};

}  // namespace holdfast::redis
