// A signal such as Ctrl-C that ends the demo or the lab.
#pragma once

#include "cli/process/signals.hpp"

#include <csignal>
#include <stdexcept>

namespace holdfast::cli {

class interrupted : public std::runtime_error {
  public:
    explicit interrupted(int number) : std::runtime_error("interrupted"), signal(number) {}
    int signal;
};

// Throws interrupted if a signal that asks for the end has come. Ignores TSTP: a holder that is stopped for
// longer than its lease would lose the lock.
inline void throw_if_interrupted(signal_inbox& signals) {
    while (const auto next = signals.next()) {
        const int signal = *next;
        if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT)
            throw interrupted(signal);
    }
}

}  // namespace holdfast::cli
