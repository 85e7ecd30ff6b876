// One of the services that sell the stock: a process of its own with many threads.
#pragma once

#include "cli/demo/plan.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace holdfast::cli::demo {

// What the demo assigns to a service, in one line on its standard input.
struct assignment {
    protection guard = protection::none;
    demo_kind kind = demo_kind::mutex;
    int process = 0;
    int threads = 1;
    std::int64_t requests = 0;
    std::filesystem::path books;
    std::string url;     // of the store
    std::string prefix;  // of the names of its locks
};

[[nodiscard]] std::string to_line(const assignment& job);

// Reads its assignment from standard input, and reports on standard output, line by line:
//   ready        it has opened everything and waits for a line "go"
//   3120         the number of answered requests
//   failed WHY   before it exits
// Returns the exit code. The last count comes as soon as the last request is answered, the end of the process
// when its answers are in the books as well.
int serve();

}  // namespace holdfast::cli::demo
