// A session in pipeline mode: statements are sent without waiting for the answers to those before.
#pragma once

#include "backends/postgres/open_sockets.hpp"
#include "backends/postgres/session.hpp"
#include "base/annotations.hpp"
#include "io/reactor.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::postgres_backend {

// A statement with the handler of its answer.
struct request {
    sql_backend::statement what;
    sql_backend::time_point deadline;
    sql_backend::handler<sql_backend::outcome> done;
    std::string sql{};  // instead of `what`, without parameters
};

// Thread-safe. Handlers run without its mutex, on the thread that reads.
class connection : public std::enable_shared_from_this<connection> {
  public:
    struct handlers {
        // The session is lost, and statements without an answer have theirs now. Once, on the reactor thread.
        std::function<void(const sql_backend::failure&)> on_lost;
        std::function<void(std::string_view text)> on_message;
        std::function<void(std::chrono::nanoseconds)> on_round_trip;
        // Whether the reactor is to read the answers; if not, it has called let_reactor_read(false). Empty:
        // it always is.
        std::function<bool(connection&)> reactor_reads;
    };

    connection(io::reactor& reactor, made_session made, std::chrono::milliseconds answer_timeout);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection();

    // On the reactor thread. `sockets` outlives the session.
    void start(open_sockets& sockets, handlers to);

    // False: the session is lost, and `r` is as it was.
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
    // Reads what has arrived, and sends what waits for room. Handlers run here.
    void read_some();
    // Until the next call.
    void let_reactor_read(bool does);

    [[nodiscard]] const server_facts& server() const noexcept { return server_; }

    // On the reactor thread: ends the session. Statements without an answer get this one.
    void close(const sql_backend::failure& why);

  private:
    struct sent {
        request what;
        io::time_point at;
        sql_backend::rows found{};
        bool failed = false;
        sql_backend::fault why{};
        bool changes = false;
    };
    struct finished {
        sql_backend::handler<sql_backend::outcome> done;
        sql_backend::outcome result;
    };

    [[nodiscard]] bool submit(const request& r) REQUIRES(mutex_);
    void flush() REQUIRES(mutex_);
    void set_interest() REQUIRES(mutex_);
    void count() REQUIRES(mutex_);
    void on_event(std::uint32_t events);
    void collect(std::vector<finished>& done) REQUIRES(mutex_);
    void take(const PGresult* r) REQUIRES(mutex_);
    void lose(sql_backend::failure why) EXCLUDES(mutex_);
    void arm() REQUIRES(mutex_);
    void on_timer();

    io::reactor& reactor_;
    const server_facts server_;
    const std::chrono::milliseconds answer_timeout_;
    const bool tls_;
    const base::owned_fd fd_;
    std::atomic<std::size_t> in_flight_count_{0};
    std::atomic<bool> broken_{false};

    mutable base::mutex mutex_;
    pg_session pg_ GUARDED_BY(mutex_);  // empty: lost
    std::deque<sent> in_flight_ GUARDED_BY(mutex_);
    bool wants_room_ GUARDED_BY(mutex_) = false;
    bool reactor_reads_ GUARDED_BY(mutex_) = true;
    std::uint32_t interest_ GUARDED_BY(mutex_) = 0;  // what epoll watches
    bool armed_ GUARDED_BY(mutex_) = false;
    // The server will not do what we want in this session any more.
    bool spent_ GUARDED_BY(mutex_) = false;
    // It has warned that a commit may not be where it should be.
    bool warned_ GUARDED_BY(mutex_) = false;
    sql_backend::failure last_ GUARDED_BY(mutex_);  // what the server said last, before it ended the session

    handlers to_;  // constant after start()
    // Reactor thread.
    open_sockets* sockets_ = nullptr;
    bool lost_ = false;
    bool closed_ = false;  // on purpose: nobody needs to know
};

}  // namespace holdfast::postgres_backend
