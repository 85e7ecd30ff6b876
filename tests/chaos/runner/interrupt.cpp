#include "chaos/runner/interrupt.hpp"

#include <signal.h>

#include <initializer_list>

namespace holdfast::chaos {

namespace {

volatile sig_atomic_t was_interrupted = 0;

void on_interrupt(int) { was_interrupted = 1; }

}  // namespace

void catch_interrupts() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    for (const int s : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(s, &action, nullptr);
}

bool interrupted() noexcept { return was_interrupted != 0; }

}  // namespace holdfast::chaos
