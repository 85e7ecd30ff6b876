// The messages between `holdfast run` and the guard of its command: one struct per datagram.
#pragma once

#include "cli/process/descendants.hpp"

#include <holdfast/types.hpp>

#include <sys/socket.h>

#include <cerrno>

namespace holdfast::cli {

// From run to the guard. Each order replaces the one before it.
struct guard_order {
    enum class task : int {
        watch,    // end the command at these times, or when the link breaks
        look_on,  // only report what happens to the command
        term,     // run has sent TERM to the command's group: send it to its other descendants; KILL follows
        kill,     // send KILL to all, until nothing is left
        leave,    // say how many processes are left, and exit
    };
    task what = task::watch;
    boot_clock::time_point term_by = boot_clock::time_point::max();
    boot_clock::time_point kill_by = boot_clock::time_point::max();
    boot_clock::duration grace{};  // between TERM and KILL
};

// From the guard to run.
struct guard_report {
    enum class kind : int {
        started,       // count: the pid of the command
        stopped,       // by_signal
        ended,         // by_signal, or status; at
        began_to_end,  // the guard has sent TERM or KILL by itself: it got no later deadline in time
        kills,         // an order to kill has arrived
        cannot_end,    // count: processes of other users; status: others, which were killed and still live
        nothing_left,  // count: processes of other users that could not be killed
        left_alone,    // count: descendants that are still alive
    };
    kind what = kind::started;
    int status = 0;
    int by_signal = 0;
    int count = 0;
    sight seen = sight::whole;  // with nothing_left
    boot_clock::time_point at{};
};

enum class received { message, nothing_yet, closed };

// Does not block. If the peer ends before it has read everything, recv() fails once before it returns what
// the peer wrote: this is skipped, so that the last messages are read.
template <class Message>
received receive(int link, Message& into) noexcept {
    while (true) {
        const auto n = ::recv(link, &into, sizeof into, MSG_DONTWAIT);
        if (n == static_cast<ssize_t>(sizeof into)) return received::message;
        if (n < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
        return n < 0 && errno == EAGAIN ? received::nothing_yet : received::closed;
    }
}

}  // namespace holdfast::cli
