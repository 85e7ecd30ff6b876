// What `holdfast run` and the guard of its command say to each other: one struct per datagram.
#pragma once

#include <holdfast/types.hpp>

#include <sys/socket.h>

#include <cerrno>

namespace holdfast::cli {

// From run to the guard. Each order replaces the one before it.
struct guard_order {
    enum class task : int {
        watch,    // end the command at these times, or when the link breaks
        look_on,  // only report what becomes of it
        term,     // the command's group was sent TERM: send it to its other descendants, too; KILL follows
        kill,     // KILL all, until nothing is left
        leave,    // say how many processes are left, and exit
    };
    task what = task::watch;
    boot_clock::time_point term_by = boot_clock::time_point::max();
    boot_clock::time_point kill_by = boot_clock::time_point::max();
    boot_clock::duration grace{};  // between TERM and KILL
};

// How much the guard sees of what the command started.
enum class sight : int {
    whole,
    own,   // /proc hides processes of other users (hidepid)
    none,  // /proc is not mounted, or is that of other processes: only the command and its group are known
};

// From the guard to run.
struct guard_report {
    enum class news : int {
        started,       // count: the pid of the command
        stopped,       // by_signal
        ended,         // by_signal, or status; at
        began_to_end,  // the guard has sent TERM or KILL by itself: a later deadline did not come in time
        kills,         // an order to kill has come
        cannot_end,    // count: processes of other users; status: others, which were killed and live on
        nothing_left,  // count: processes of other users that could not be killed
        left_alone,    // count: descendants that live on
    };
    news what = news::started;
    int status = 0;
    int by_signal = 0;
    int count = 0;
    sight seen = sight::whole;  // with nothing_left
    boot_clock::time_point at{};
};

enum class received { message, nothing_yet, closed };

// Does not block. A peer that ends before it has read all is told as an error once, ahead of what it wrote:
// its last words are read all the same.
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
