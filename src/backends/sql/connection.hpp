// A session of a database that carries out statements, whichever its driver is.
#pragma once

#include "backends/sql/database.hpp"
#include "backends/sql/open_sockets.hpp"
#include "base/annotations.hpp"
#include "base/owned_fd.hpp"
#include "io/reactor.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sql_backend {

// A statement with the handler of its answer.
struct request {
    statement what;
    time_point deadline;
    handler<outcome> done;
    std::string sql{};  // instead of `what`, without parameters
};

// What the server says about itself.
struct server_facts {
    std::string address;  // for people
    // Another one when the server may have lost commits; where it does not show that, for each start.
    std::string run_id;
    std::chrono::seconds uptime{0};  // of this run
    std::int64_t session = 0;        // what the server calls the session
    bool pooled = false;             // a pooler stands between: the next statement may run in another session
};

// Thread-safe. Handlers run without its mutex, on the thread that reads.
class connection : public std::enable_shared_from_this<connection> {
  public:
    struct handlers {
        // The session is lost, and statements without an answer have theirs now. Once, on the reactor thread.
        std::function<void(const failure&)> on_lost;
        std::function<void(std::string_view text)> on_message;
        std::function<void(std::chrono::nanoseconds)> on_round_trip;
        // Whether the reactor is to read the answers; if not, it has called let_reactor_read(false). Empty:
        // it always is.
        std::function<bool(connection&)> reactor_reads;
    };

    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    virtual ~connection() = default;

    // On the reactor thread. Both arguments outlive the session.
    void start(io::reactor& reactor, open_sockets& sockets, handlers to);

    // False: the session is lost, and `r` is as it was. Without memory it throws, and nothing was sent.
    [[nodiscard]] bool send(request& r);
    // 0 if the session is broken.
    [[nodiscard]] std::size_t in_flight() const noexcept {
        return in_flight_count_.load(std::memory_order_relaxed);
    }

    // For a thread that reads the answers itself. -1: the session is broken. The number stays the same while
    // the object exists.
    [[nodiscard]] int descriptor() const noexcept {
        return broken_.load(std::memory_order_relaxed) ? -1 : fd_.get();
    }
    // Reads what has arrived, and sends what waits for room. Handlers run here. Without memory for an answer
    // the session is lost.
    void read_some();
    // Until the next call.
    void let_reactor_read(bool does);

    [[nodiscard]] const server_facts& server() const noexcept { return server_; }

    // On the reactor thread: ends the session. Statements without an answer get this one.
    void close(const failure& why);

  protected:
    // `watched` is a descriptor of the session's socket besides the driver's own, which the driver may close
    // on any thread.
    connection(server_facts server, base::owned_fd watched, std::chrono::milliseconds answer_timeout)
        : server_(std::move(server)), answer_timeout_(answer_timeout), fd_(std::move(watched)) {}

    struct sent {
        request what;
        io::time_point at;
        bool changes = false;
        bool begun = false;  // the driver has it; before, it cannot have an effect
        rows found{};
        bool failed = false;
        fault why{};
    };
    struct finished {
        handler<outcome> done;
        outcome result;
    };
    struct progress {
        std::vector<finished> done{};
        std::vector<std::string> messages{};
        std::optional<failure> lost{};  // the session is broken
    };

    // --- a driver implements these; the mutex is held ------------------------------------------------

    // Takes what it can of in_flight_, and sets `begun`. Throws std::bad_alloc only before. False: nothing of
    // the last one will reach the server, because the session ends.
    [[nodiscard]] virtual bool submit() REQUIRES(mutex_) = 0;
    // Reads what there is, and calls finish_first() for each statement that has its answer. May throw
    // std::bad_alloc.
    virtual void advance(progress& p) REQUIRES(mutex_) = 0;
    // Sends what it can. True: more waits for room.
    [[nodiscard]] virtual bool flush() REQUIRES(mutex_) = 0;
    // Without waiting. Nothing else is called afterwards.
    virtual void end_session() noexcept REQUIRES(mutex_) = 0;
    // The driver's own descriptor.
    [[nodiscard]] virtual int socket() const noexcept REQUIRES(mutex_) = 0;

    // The first in in_flight_, by what it has found or why it failed.
    void finish_first(progress& p) REQUIRES(mutex_);
    // The first reason counts.
    static void fail(sent& one, fault why) {
        if (!std::exchange(one.failed, true)) one.why = std::move(why);
    }

    [[nodiscard]] io::reactor& reactor() const noexcept { return *reactor_; }

    mutable base::mutex mutex_;
    std::deque<sent> in_flight_ GUARDED_BY(mutex_);
    // The server will not do what we want in this session any more.
    bool spent_ GUARDED_BY(mutex_) = false;
    // What the server said last, before it ended the session; else why the session is broken.
    failure last_ GUARDED_BY(mutex_);

    const server_facts server_;
    const std::chrono::milliseconds answer_timeout_;

  private:
    void set_interest() REQUIRES(mutex_);
    void count() REQUIRES(mutex_);
    void on_event(std::uint32_t events);
    void lose(failure why) EXCLUDES(mutex_);
    void lose_broken() EXCLUDES(mutex_);  // for the reason in last_
    void arm() REQUIRES(mutex_);
    void on_timer();
    const base::owned_fd fd_;
    std::atomic<std::size_t> in_flight_count_{0};
    std::atomic<bool> broken_{false};

    bool ended_ GUARDED_BY(mutex_) = false;
    bool wants_room_ GUARDED_BY(mutex_) = false;
    bool reactor_reads_ GUARDED_BY(mutex_) = true;
    std::uint32_t interest_ GUARDED_BY(mutex_) = 0;  // what epoll watches
    bool armed_ GUARDED_BY(mutex_) = false;

    // Constant after start().
    handlers to_;
    io::reactor* reactor_ = nullptr;
    open_sockets* sockets_ = nullptr;
    // Reactor thread.
    bool lost_ = false;
    bool closed_ = false;  // on purpose: nobody needs to know
};

}  // namespace holdfast::sql_backend
