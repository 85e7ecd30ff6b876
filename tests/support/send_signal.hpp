// kill(2) for one process that a test knows.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <stdexcept>
#include <string>

namespace holdfast::test {

// As kill(2). Throws std::invalid_argument for a number below 2: a lookup gives 0 for a process that has
// ended, and kill() would then signal the whole test run, or all processes.
inline int send_signal(pid_t to, int number) {
    if (to <= 1) throw std::invalid_argument("there is no process " + std::to_string(to) + " to signal");
    return ::kill(to, number);
}

}  // namespace holdfast::test
