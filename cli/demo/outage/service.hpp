// One of the services of `holdfast demo outage`.
#pragma once

#include "cli/demo/outage/scheme.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace holdfast::cli::demo::outage {

struct outage_job {
    scheme how = scheme::chain;
    int process = 0;
    int threads = 1;
    std::int64_t requests = 0;
    double rate = 0;  // of this process, per second
    std::int64_t patience_ms = 0;
    std::filesystem::path books;
    std::string url;
};

[[nodiscard]] std::string to_line(const outage_job& job);

// How the requests of a service ended so far.
struct outage_counts {
    std::int64_t served = 0;   // sold, or told that all is sold
    std::int64_t refused = 0;  // no lock in time
    std::int64_t weaker = 0;   // of those served: without the lock of the store
    std::int64_t busy = 0;     // of those: although Redis had answered that another one has the lock
    std::int64_t retries = 0;  // sales that another one was faster with

    outage_counts& operator+=(const outage_counts& more);
};

[[nodiscard]] std::string to_line(const outage_counts& counts);
// False: the line is none.
[[nodiscard]] bool read(std::string_view line, outage_counts& to);

// As serve() of service.hpp, with these lines: counts, and "mode WHAT" when the group has changed its mode.
int serve_outage();

}  // namespace holdfast::cli::demo::outage
