// A few connections that carry out statements.
#pragma once

#include "backends/sql/connection.hpp"
#include "backends/sql/connector.hpp"
#include "backends/sql/unfinished_socket.hpp"
#include "base/wake_fd.hpp"
#include "io/pollable.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace holdfast::sql_backend {

// The commits of one session wait for the disk one after the other, so there are up to four. Reported on the
// reactor thread.
struct link_handlers {
    std::function<void(const server_facts&)> on_session;             // each, before it carries statements
    std::function<void(const server_facts&, bool restarted)> on_up;  // the first connection is there
    std::function<void(const failure&)> on_down;  // the last one is gone, or none can be made
};

struct pool_settings {
    session_maker make;
    std::string where{};  // for people
    // A connection with this many statements is busy enough for another one.
    std::size_t many = 1;
};

class pool final : public database {
  public:
    static constexpr std::size_t most = 4;

    pool(io::reactor& reactor, pool_settings how, link_handlers to);
    ~pool() override;

    void run(statement what, time_point deadline, handler<outcome> done) override;
    void run_io(base::parker& me, time_point until) override;
    [[nodiscard]] backend::traffic statistics() const noexcept override;
    void close() override;
    void abandon() noexcept override {
        sockets_.close_all();
        unfinished_socket::close_all();
    }

  private:
    enum class state { down, up, refused, closed };

    void fail_soon(request r, failure why);
    [[nodiscard]] bool send(request& r) REQUIRES(mutex_);
    void wait(request r) REQUIRES(mutex_);
    void connect();
    void connect_in(std::chrono::nanoseconds pause);
    void on_made(connector::result result);
    void on_lost(const connection* which, const failure& why);
    void on_expiry();
    void end_waiting(std::vector<request>& all, const failure& why);

    // Who reads; see pool_reader.cpp.
    enum class role {
        idle,     // nobody, or the threads that have sent something, in a moment
        caller,   // a thread in run_io
        reactor,  // those that wait do not call run_io
    };
    [[nodiscard]] bool has_work() const REQUIRES(mutex_);
    void read_for(base::parker& me, time_point until) REQUIRES(mutex_);
    void wait_for_turn(base::parker& me, time_point until) REQUIRES(mutex_);
    void pass_reading_on() REQUIRES(mutex_);
    void find_reader() REQUIRES(mutex_);
    void let_reactor_read() REQUIRES(mutex_);
    [[nodiscard]] bool reactor_reads(connection& one);
    void poke_caller() const;
    void arm_tick() REQUIRES(mutex_);
    void tick();

    io::reactor& reactor_;
    const pool_settings how_;
    open_sockets sockets_;

    mutable base::mutex mutex_;
    state state_ GUARDED_BY(mutex_) = state::down;
    std::vector<std::shared_ptr<connection>> all_ GUARDED_BY(mutex_);
    std::vector<request> waiting_ GUARDED_BY(mutex_);  // for a connection
    failure last_ GUARDED_BY(mutex_);                  // why there is none
    bool growing_ GUARDED_BY(mutex_) = false;
    io::time_point grow_again_ GUARDED_BY(mutex_){};  // after it could not
    io::timer_id expiry_ GUARDED_BY(mutex_);
    role role_ GUARDED_BY(mutex_) = role::idle;
    std::vector<io::parked_caller*> parked_ GUARDED_BY(mutex_);  // in order of parking
    // The caller in run_io polls without a timeout, and must be poked before this time.
    io::time_point caller_until_ GUARDED_BY(mutex_) = io::time_point::max();
    bool tick_armed_ GUARDED_BY(mutex_) = false;
    const std::shared_ptr<const base::wake_fd> wake_ = std::make_shared<const base::wake_fd>();

    // Reactor thread.
    link_handlers to_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // empty: closed
    const std::weak_ptr<bool> life_ = alive_;                     // any thread
    std::unique_ptr<connector> connecting_;
    io::timer_id again_;
    pauses pauses_;
    std::string run_id_;
    bool reported_down_ = false;

    std::atomic<std::uint64_t> sent_{0};
    std::atomic<std::int64_t> round_trip_{0};
};

}  // namespace holdfast::sql_backend
