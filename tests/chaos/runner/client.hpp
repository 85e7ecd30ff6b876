// A client process of a run: threads that do as chance tells them, and write down what they do.
#pragma once

#include "chaos/runner/subject.hpp"

#include <cstdint>
#include <string>

namespace holdfast::chaos {

struct client_settings {
    setting locks;
    std::uint32_t process = 0;
    std::uint64_t seed = 0;
    unsigned threads = 4;
    std::string resource;    // a file
    std::string only_locks;  // of those whose name has this in it
};

// Lines on standard input: "round FILE" begins to record into a new file; "drain" lets the threads end what
// they have begun, and begin nothing, which is answered with a line "drained"; the end of the input ends the
// process.
int run_client(const client_settings& how);

}  // namespace holdfast::chaos
