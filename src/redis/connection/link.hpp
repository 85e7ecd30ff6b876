// One multiplexed connection for commands, read by the threads that wait for its replies.
#pragma once

#include "base/annotations.hpp"
#include "base/wake_fd.hpp"
#include "io/pollable.hpp"
#include "io/reactor.hpp"
#include "redis/connection/operation.hpp"
#include "redis/connection/reconnector.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

namespace holdfast::redis {

// Reported on the reactor thread.
struct link_event {
    enum class what { up, down, refused } kind;
    server_info server;  // of `up`
    fault why;           // of `down` and `refused`
};

// No thread reads and writes for all callers: each command would cost two thread switches, more than the
// round trip itself on a near network. Threads do not have a connection each: one server would serve 32 of
// them slower than one pipeline (reference/performance.md 2).
//
// A command goes   queue -> in flight -> answered.   In flight means that its bytes are handed to the kernel
// or about to be; replies come in that order. A submitter writes its command at once while fewer than
// `eager_depth` are in flight; above that the reader of the replies writes all commands in one go.
//
// Which thread reads (role):
//   idle     none. Nothing is in flight, or the threads that sent are on their way into run_io()
//   caller   one thread inside run_io(); other callers park
//   reactor  the reactor thread, for replies that no thread waits for. Gives way to any caller
// A caller that leaves passes the role to a parked caller, else to the reactor. It looks at the queue once
// more after it has published that it left; submit looks at the role under the same mutex, so no command is
// left without a reader. The reactor also has a tick, armed while commands come or go: it reads in place of a
// caller that does not get to run, fails overdue commands and declares a silent connection dead.
//
// The connection (state):
//   down     none, or being made. Commands wait until their deadline; with an endpoint source
//            (node_config::source) so do those that a server refused because it is not the master
//   up       commands flow
//   refused  the server refuses us as configured. Commands fail at once; the next try comes late
//   closed   for ever
//
// Thread-safe. `mutex_` is held for a few hundred instructions at a time, never over a system call on the
// socket or a handler. `pump_mutex_` makes receive, parse and dispatch one step; it is locked first.
class link : public io::pollable, public std::enable_shared_from_this<link> {
  public:
    static constexpr std::size_t eager_depth = 8;  // measured: bench, 4 to 128 threads
    static constexpr int yields = 16;              // likewise, P3G
    // The reactor reads by itself if the oldest reply is this late; it looks this often.
    static constexpr std::chrono::milliseconds tick_period{20};

    // `on_event` runs on the reactor thread. Call `start` once, and `close` before the last reference is
    // gone.
    link(const node_config&, io::reactor&, std::function<void(const link_event&)> on_event,
         redirector redirect = {});
    link(const link&) = delete;
    link& operator=(const link&) = delete;
    ~link() override;
    void start();

    // Never blocks. Several requests are written together. See outcome.hpp for the handler.
    void submit(std::span<request>);
    void submit(request r) { submit({&r, 1}); }

    // True if the calling thread sent its last command for which it will call run_io on this link.
    [[nodiscard]] bool sent_on_last() const noexcept;
    // See node::run_io.
    void run_io(base::parker& me, time_point until) EXCLUDES(mutex_, pump_mutex_);

    // --- io::pollable
    [[nodiscard]] part begin_turn(io::parked_caller& me) override EXCLUDES(mutex_);
    [[nodiscard]] interest poll_for() override EXCLUDES(mutex_);
    void read_some() override EXCLUDES(mutex_, pump_mutex_);
    void end_turn(part was, io::parked_caller& me) override EXCLUDES(mutex_);

    // Ends all commands with errc::closed. After it returns no callback runs. Waits for the reactor; do not
    // call it while a thread is inside run_io() or from a handler.
    void close();
    // See node::abandon.
    void abandon() noexcept;

    [[nodiscard]] server_info info() const;
    [[nodiscard]] std::uint64_t commands_sent() const noexcept {
        return sent_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::chrono::nanoseconds smoothed_rtt() const noexcept {
        return std::chrono::nanoseconds{rtt_.load(std::memory_order_relaxed)};
    }

  private:
    enum class role { idle, caller, reactor };
    enum class state { down, up, refused, closed };

    // The state that ends with a socket. A thread that uses it outside the mutex keeps a reference, so that
    // the descriptor cannot be reused during its poll or send.
    struct connection {
        std::shared_ptr<io::stream> stream;

        // Guarded by pump_mutex_.
        std::unique_ptr<parser> replies;
        std::array<char, io::receive_size> inbox;

        // Guarded by mutex_; the bytes of `outbox` belong to the writer while `writing`.
        operation_queue in_flight;
        operation_queue turned_away;  // refused by a server that is no master; for the next connection
        std::string outbox;           // of operations in flight; not sent from outbox_begin on
        std::size_t outbox_begin = 0;
        bool writing = false;             // one thread is in send()
        std::uint64_t bytes_planned = 0;  // positions in the stream, to know what was never sent
        std::uint64_t bytes_sent = 0;     // handed to the kernel, or in a send() that has not returned
        time_point last_reply{};
        // Since a reply was due, without the time in which the reactor stood still.
        boot_clock::duration silence{};
        bool draining = false;  // to be replaced after the last reply; sends nothing new
    };
    using connection_ptr = std::shared_ptr<connection>;

    // --- link.cpp: from the queue to the handler
    void write_out() REQUIRES(mutex_);
    void fill_outbox(connection&) REQUIRES(mutex_);
    [[nodiscard]] bool has_work() const REQUIRES(mutex_);
    [[nodiscard]] bool has_unwritten() const REQUIRES(mutex_);
    enum class pumped { nothing, some, lost };
    pumped pump(const connection_ptr&) REQUIRES(pump_mutex_) EXCLUDES(mutex_);
    bool deliver(const connection_ptr&, reply&&, time_point now) EXCLUDES(mutex_);
    std::unique_ptr<operation> account_for(connection&, reply&, time_point now) REQUIRES(mutex_);
    void finish(operation&, outcome&&) noexcept EXCLUDES(mutex_);
    void resend_whole_script(std::unique_ptr<operation>) EXCLUDES(mutex_);
    void fail_soon(operation_queue&, not_sent) REQUIRES(mutex_);
    void end_counting(const operation_queue&) REQUIRES(mutex_);
    void sweep(time_point now) EXCLUDES(mutex_);

    // --- link_reader.cpp: which thread reads
    void read_for(base::parker& me, time_point until, time_point now) REQUIRES(mutex_);
    void wait(base::parker& me, time_point until) REQUIRES(mutex_);
    void pass_reading_on(bool leaver_gave_up) REQUIRES(mutex_);
    void let_reactor_read() REQUIRES(mutex_);
    void set_interest(std::uint32_t epoll_events) REQUIRES(mutex_);
    bool read_on_reactor(const connection_ptr&) EXCLUDES(mutex_, pump_mutex_);
    pumped wait_and_pump(const connection_ptr&, base::parker& me, std::chrono::nanoseconds at_most,
                         short poll_events) EXCLUDES(mutex_, pump_mutex_);
    void poke_caller() const;
    void on_ready(std::uint32_t events);
    void arm_tick() REQUIRES(mutex_);
    void tick();

    // --- link_lifecycle.cpp: connections come and go
    void connect();
    [[nodiscard]] std::error_code make_wake() EXCLUDES(mutex_);
    void on_connected(connected);
    void on_connect_failed(const connect_failure&);
    void on_moved(const host_port& to);
    void lose(connection_ptr, fault why) REQUIRES(mutex_);
    void report_loss(const connection_ptr&, operation_queue& lost, const fault& why);
    void arm_expiry(time_point deadline) REQUIRES(mutex_);
    void on_expiry();
    [[nodiscard]] not_sent why_not_sent() const REQUIRES(mutex_);
    [[nodiscard]] std::string silent_text() const REQUIRES(mutex_);
    void report(const link_event&);

    const node_config config_;
    const redirector redirect_;
    io::reactor& reactor_;
    // The caller in run_io polls it together with the socket. Made with the first connection, before conn_.
    std::shared_ptr<const base::wake_fd> wake_;

    base::mutex pump_mutex_;

    mutable base::mutex mutex_;
    state state_ GUARDED_BY(mutex_) = state::down;
    role role_ GUARDED_BY(mutex_) = role::idle;
    connection_ptr conn_ GUARDED_BY(mutex_);  // set exactly while state_ is `up`
    operation_queue queue_ GUARDED_BY(mutex_);
    std::uint32_t interest_ GUARDED_BY(mutex_) = 0;  // the events that epoll watches on conn_
    std::size_t queued_bytes_ GUARDED_BY(mutex_) = 0;
    std::size_t for_reactor_ GUARDED_BY(mutex_) =
        0;  // operations, queued or in flight, whose thread will not call run_io
    std::vector<io::parked_caller*> parked_ GUARDED_BY(mutex_);  // in order of parking
    connection_ptr polled_;                                      // during a turn; only its reader uses it
    // The caller in run_io polls without a timeout and must be poked before this time.
    time_point caller_until_ GUARDED_BY(mutex_) = time_point::max();
    bool tick_armed_ GUARDED_BY(mutex_) = false;
    time_point ticked_at_ GUARDED_BY(mutex_){};
    std::uint64_t submitted_ GUARDED_BY(mutex_) = 0;
    std::uint64_t submitted_at_tick_ GUARDED_BY(mutex_) = 0;
    time_point expiry_at_ GUARDED_BY(mutex_) = time_point::max();
    std::string address_ GUARDED_BY(mutex_);  // of the latest connection, for people
    fault last_fault_ GUARDED_BY(mutex_);     // why there is no connection
    server_info info_ GUARDED_BY(mutex_);

    // Reactor thread only.
    std::function<void(const link_event&)> on_event_;
    reconnector reconnector_;
    bool reported_down_ = false;
    bool reported_refused_ = false;

    std::atomic<std::uint64_t> sent_{0};
    std::atomic<std::int64_t> rtt_{0};
    std::atomic<int> fd_for_abandon_{-1};
};

}  // namespace holdfast::redis
