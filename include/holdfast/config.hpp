// Every setting, its default and the reason for it. Checked once, by the client's constructor; a bad
// value is errc::invalid_argument and names its field.
#pragma once

#include <chrono>
#include <string>

namespace holdfast {

struct config {
    using milliseconds = std::chrono::milliseconds;

    // Where the locks live:
    //   redis://[user[:password]@]host[:port][/db][?option=value&...]
    //   rediss://...          the same in TLS 1.2 or later, and never without
    //   unix:///path/to/socket[?db=0&user=...&password=...]
    //   local:[name]          threads of this process only; clients that give the same name share it
    // Options of all Redis forms: connect_timeout, command_timeout (durations such as 500ms or 2s; a
    // connection that is silent for a command_timeout although it owes an answer is given up).
    // Options of rediss, whose files are read once, by the client's constructor:
    //   ca           PEM file with those who may vouch for the server; default: the system's store
    //   cert, key    PEM files with a certificate of the client's own and its key, without a passphrase
    //   server_name  whom to ask for, and what the certificate must be for; default: the host
    //   tls_min      1.2, the default, or 1.3
    // The server's certificate is always verified. One that is not accepted, or a server that does not accept
    // ours, is condition::misuse at once: errc::invalid_argument or errc::no_permission.
    std::string url = "redis://127.0.0.1:6379";

    // A lock without a ttl of its own is held this long at a time and renewed while its holder lives.
    // Redisson's lockWatchdogTimeout; a killed holder keeps others out for this long. 10 ms to 24 h.
    milliseconds lease{30'000};

    // Renew when this much of the lease has passed. A third leaves two more tries. 0.05 to 0.8.
    double renew_after = 1.0 / 3;

    // A waiter asks again at least this often, so that a lost message costs no more. 20 ms to 1 min.
    milliseconds poll_gap{1'000};

    // A waiter without messages (wake::poll, or no right to listen) asks this often.
    milliseconds silent_poll{40};

    // How far this machine's clock and the server's may drift apart within one lease; the validity of
    // a lease is shortened by it. The share that Redlock's authors use (1 %), and 2 ms for very short leases.
    double drift = 0.01;
    milliseconds margin{2};

    // A waiter that was answered once goes on through an outage of the store for this long. One that
    // was never answered gives up at once with errc::unavailable.
    milliseconds patience{10'000};

    // A lock that is released while another thread of this client waits for it on the same terms is passed on
    // without a word to the store, until this many threads in a row had it by one grant, or 10 ms have passed
    // since; then it is the other processes' turn. 1: never passed on. 1 to 16.
    unsigned local_turns = 16;

    // Who waits for a fair_mutex and does not ask for this long is taken for dead and loses its place: so
    // much a killed waiter costs those behind it when its turn comes. 100 ms to 5 min; twice the poll gap if
    // that is more.
    milliseconds fair_liveness{5'000};

    // Connections for commands; a lock's commands all go over the same one. One serves many threads best,
    // since they share its reads and writes; a few serve two to four threads better, which else wait for each
    // other. event_kind::store_down tells when one of them is lost, store_up when all are there. 1 to 64.
    unsigned connections = 1;

    // One answer of the store is waited for this long. 10 ms to 1 min.
    milliseconds answer_timeout{2'000};

    // The client's destructor gives back what is still held, and waits for it at most this long.
    milliseconds close_timeout{200};

    // A callback of the user that runs longer is reported, and others go on beside it.
    milliseconds slow_callback{1'000};

    // Shown by CLIENT LIST behind "holdfast:", the client's id, its pid and its host. Empty: the program's
    // name.
    std::string program;
};

}  // namespace holdfast
