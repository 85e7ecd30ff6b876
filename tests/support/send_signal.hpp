// kill(2) for one process that a test knows.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <stdexcept>
#include <string>

namespace holdfast::test {

// As kill(2). Throws std::invalid_argument for 0 and less, which a test has when the process is gone before
// it could be looked up: kill() would then reach the group of the whole test run, or all processes.
inline int send_signal(pid_t to, int number) {
    if (to <= 1) throw std::invalid_argument("there is no process " + std::to_string(to) + " to signal");
    return ::kill(to, number);
}

}  // namespace holdfast::test
