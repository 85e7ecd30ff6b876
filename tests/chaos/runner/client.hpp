// A client process of a run: its threads act at random and record what they do.
#pragma once

#include "chaos/runner/subject.hpp"

#include <cstdint>
#include <string>

namespace holdfast::chaos {

struct client_settings {
    setting locks;
    std::string url_of_first{};  // see topology
    std::uint32_t process = 0;
    std::uint64_t seed = 0;
    unsigned threads = 4;
    std::string resource;    // a file
    std::string only_locks;  // only locks whose name contains this
};

// Reads lines from standard input. "round FILE" begins to record into a new file. "drain" lets the threads
// finish what they have begun and begin nothing; then the process writes a line "drained". The end of the
// input ends the process.
int run_client(const client_settings& how);

}  // namespace holdfast::chaos
