// A session with a ZooKeeper ensemble: connects to one of the servers, moves to another when that one fails,
// keeps the session alive, and begins a new one when the ensemble has ended it. Knows nothing of locks.
#pragma once

#include "base/annotations.hpp"
#include "base/parker.hpp"
#include "io/reactor.hpp"
#include "io/stream.hpp"
#include "zookeeper/session_proof.hpp"
#include "zookeeper/wire.hpp"

#include <holdfast/callback.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace holdfast::io {
class tls_context;
}

namespace holdfast::zookeeper {

struct server {
    io::endpoint where;
    std::shared_ptr<const io::tls_context> tls;  // null: plaintext
};

struct session_config {
    std::vector<server> servers;
    std::string credentials;       // "user:password" of the scheme "digest"; empty: none
    milliseconds timeout{40'000};  // asked for; the servers bound it
    milliseconds tick{2'000};      // no less than the tickTime of the servers
    milliseconds answer_timeout{2'000};
    double drift = 0.01;  // of clocks, as a share of the timeout
    milliseconds margin{2};
};

// What became of a request.
struct answer {
    enum class outcome {
        answered,  // see err and body
        unknown,   // it was sent, and the connection was lost: the servers may have carried it out
        not_sent,  // and will not be
    };
    outcome how = outcome::not_sent;
    code err = code::ok;
    std::string_view body{};   // valid during the call
    std::int64_t session = 0;  // in which it was answered
    std::error_code reason{};  // if it was not answered
    std::string why{};         // likewise: for people, a clause

    [[nodiscard]] bool ok() const noexcept { return how == outcome::answered && err == code::ok; }
    [[nodiscard]] bool is(code c) const noexcept { return how == outcome::answered && err == c; }
};

// Thread-safe. Answers and events are called on the reactor's thread, one at a time, without a lock. Make it
// with std::make_shared; the reactor outlives close().
//
//   phase      | waits for                      | then
//   idle       | the first request              | seeking
//   seeking    | a server that accepts us       | attached; or, after all of them, pausing or idle
//   pausing    | a moment                       | seeking
//   attached   | answers                        | seeking, when the connection is lost; pausing, if none came
//   closed     | nothing
class session : public std::enable_shared_from_this<session> {
  public:
    struct attachment {
        std::int64_t session;
        bool is_new;  // else it is the former session, on another connection
        milliseconds timeout;
        std::string server;
        // The former session got less time than before: what was proven counts until then at the longest.
        std::optional<time_point> shortened{};
    };
    struct events {
        // Before any request is sent on this connection. Watches of former connections are gone.
        std::function<void(const attachment&)> attached;
        std::function<void(const std::string& why, std::error_code)> detached;
        // The session and its ephemeral nodes have ended. Before the next one begins.
        std::function<void(const std::string& why)> expired;
        std::function<void(const event&)> watched;
        // The session lasts at least until then.
        std::function<void(time_point until)> proven;
    };
    using handler = callback<void(const answer&)>;
    struct call {
        request what;
        handler done;
    };

    session(session_config, io::reactor&, events);
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session();

    // Sends the requests together, in this order; each handler is called exactly once, later. What was not
    // sent by `deadline` is not sent. Throws std::bad_alloc: then nothing is sent, and no handler is called.
    void submit(std::vector<call> calls, time_point deadline);

    [[nodiscard]] bool has_pending() const noexcept { return open_.load(std::memory_order_relaxed) != 0; }
    [[nodiscard]] std::uint64_t requests() const noexcept { return sent_.load(std::memory_order_relaxed); }
    [[nodiscard]] boot_clock::duration round_trip() const noexcept {
        return boot_clock::duration{round_trip_.load(std::memory_order_relaxed)};
    }
    // As negotiated; before that, as asked for.
    [[nodiscard]] milliseconds timeout() const noexcept {
        return milliseconds{timeout_.load(std::memory_order_relaxed)};
    }

    // The servers give so little time that no session can be proved again and again: a proof takes a tick.
    [[nodiscard]] bool is_too_short() const noexcept { return 2 * timeout() < 3 * config_.tick; }

    // Ends the session, so that its nodes vanish at once; waits for that until `until`. Afterwards all
    // handlers have been called, and none runs. Not on the reactor's thread.
    void close(time_point until);
    // In a forked child: closes the copy of the descriptor.
    void abandon() noexcept;

  private:
    enum class phase { idle, seeking, pausing, attached, closed };
    struct waiting {
        std::vector<call> calls;
        time_point deadline;
    };
    struct pending {
        std::int32_t xid;
        op what;
        time_point sent;
        std::optional<session_proof::started> proves;
        handler done;
    };
    struct lookup;
    struct connecting;

    void seek();
    void next_server();
    void resolve();
    void next_address();
    void on_resolved(std::vector<io::address> found, const std::string& why);
    void on_stream(std::uint32_t ready);
    void on_connected();
    void begin_login();
    void server_failed(const std::string& why, std::error_code reason, bool refused = false);
    void round_failed();
    void seek_later();
    void stop_connecting();
    void stop_attempt();
    void send_login();
    void read_login();

    void on_login(const logged_in& found);
    void on_frame(std::string_view content);
    void read();
    void detach(const std::string& why, std::error_code reason);
    void expire(const std::string& why);

    // Both as submit(): all or nothing where there is no memory.
    void take(waiting&& w);
    void send(waiting&& w) REQUIRES(mutex_);
    void flush() REQUIRES(mutex_);
    void beat();
    void look_at_deadlines();
    void arm_deadlines() REQUIRES(mutex_);
    void drop(std::deque<waiting>&& all, const std::string& why, std::error_code reason);
    [[nodiscard]] static std::string name_of(const server&);
    // For the reactor: calls the member function unless this is gone by then.
    template <class Member>
    auto weakly(Member member) {
        return [weak = weak_from_this(), member] {
            if (const auto self = weak.lock()) (self.get()->*member)();
        };
    }

    const session_config config_;
    io::reactor& reactor_;
    const events on_;

    std::atomic<std::size_t> open_{0};
    std::atomic<std::uint64_t> sent_{0};
    std::atomic<boot_clock::rep> round_trip_{0};
    std::atomic<milliseconds::rep> timeout_;
    std::atomic<int> fd_for_abandon_{-1};

    base::mutex mutex_;
    phase phase_ GUARDED_BY(mutex_) = phase::idle;
    std::deque<waiting> queue_ GUARDED_BY(mutex_);
    std::deque<pending> pending_ GUARDED_BY(mutex_);
    std::shared_ptr<io::stream> stream_ GUARDED_BY(mutex_);
    std::string out_ GUARDED_BY(mutex_);
    bool wants_room_ GUARDED_BY(mutex_) = false;
    bool broken_ GUARDED_BY(mutex_) = false;  // detach() is on its way
    std::int32_t last_xid_ GUARDED_BY(mutex_) = 0;
    session_proof proof_ GUARDED_BY(mutex_);
    time_point last_sent_ GUARDED_BY(mutex_){};
    time_point last_heard_ GUARDED_BY(mutex_){};
    std::optional<time_point> ping_sent_ GUARDED_BY(mutex_);
    io::timer_id deadline_timer_ GUARDED_BY(mutex_);
    base::parker* closer_ GUARDED_BY(mutex_) = nullptr;
    bool closing_ GUARDED_BY(mutex_) = false;

    // Of the reactor's thread.
    std::vector<server> servers_;  // with their files of TLS as they were read last
    std::unique_ptr<connecting> connecting_;
    frame_reader frames_;
    std::size_t next_server_ = 0;
    std::int64_t session_ = 0;
    std::string password_;
    std::int64_t last_zxid_ = 0;
    time_point attached_until_{};  // the end of the last connection
    unsigned failed_rounds_ = 0;
    bool served_ = false;  // a request was answered on this connection
    io::timer_id beat_timer_;
    io::timer_id pause_timer_;
};

}  // namespace holdfast::zookeeper
