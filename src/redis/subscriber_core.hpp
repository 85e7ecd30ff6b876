// Inside of subscriber: its connection, and the books about who listens to what.
#pragma once

#include "base/annotations.hpp"
#include "redis/dialer.hpp"
#include "redis/subscriber.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace holdfast::redis {

// One handler on one channel. Fields are guarded by the core's mutex, but `handler` is run without it.
struct listener {
    std::string channel;
    sub_handler handler;
    bool left = false;
    bool running = false;  // the reactor is in the handler
    bool told = false;     // on this connection, `subscribed` or `refused`
};

// join and leave come from any thread and only note what is wanted; the reactor makes it so. A channel:
//
//   wanted   server    then
//   yes      no        SUBSCRIBE; on its confirmation the listeners are told
//   no       yes       UNSUBSCRIBE
//   no       no        the channel is forgotten when the last confirmation is in
//
// A sharded channel may also be taken off by the server, when its slot goes to another one. It is asked for
// again, and the refusal says who serves it now.
//
// `server` is what the last command sent on this connection asked for, not what was confirmed.
class subscriber::core : public std::enable_shared_from_this<core> {
  public:
    core(const node_config&, io::reactor&);

    std::shared_ptr<listener> join(std::string channel, sub_handler, pubsub how);
    void leave(const std::shared_ptr<listener>&);
    // On the reactor thread.
    void close();
    void abandon() noexcept;

    io::reactor& reactor() { return reactor_; }

  private:
    struct channel {
        std::vector<std::shared_ptr<listener>> listeners;  // guarded by mutex_
        pubsub how = pubsub::plain;                        // likewise
        // Reactor thread only.
        bool asked = false;        // what the last command asked for
        bool confirmed = false;    // and that was SUBSCRIBE, and it is confirmed
        bool refused = false;      // or it was not allowed
        std::string refusal;       // then what the server said
        unsigned unconfirmed = 0;  // commands on their way
    };
    // What the server still has to answer, in order.
    struct expected {
        enum class what { subscribe, unsubscribe, pong } kind;
        std::string channel;
    };
    using listeners = std::vector<std::shared_ptr<listener>>;

    void note_change(const std::string& channel) REQUIRES(mutex_);
    void settle();
    void settle(const std::string& name);
    void forget_if_unused(const std::string& name);
    [[nodiscard]] listeners listeners_of(const std::string& name);
    void tell(const listeners&, const sub_event&);

    void connect();
    void on_connected(connected);
    void on_connect_failed(const connect_failure&);
    void on_moved(const host_port& to);
    void on_ready();
    void flush();
    void take(const reply&);
    void turned_out(const std::string& name);
    void lose(const std::string& why);
    void check_silence();
    void expect_answer();
    void arm_check(io::time_point);

    const node_config config_;
    io::reactor& reactor_;

    base::mutex mutex_;
    std::condition_variable_any handler_ended_;
    std::unordered_map<std::string, channel> channels_ GUARDED_BY(mutex_);  // erased by the reactor only
    std::vector<std::string> changed_ GUARDED_BY(mutex_);                   // for the reactor to settle
    bool settle_posted_ GUARDED_BY(mutex_) = false;

    // Reactor thread only.
    bool closed_ = false;
    bool started_ = false;
    dialer dialer_;
    std::shared_ptr<io::stream> stream_;
    std::string address_;  // of stream_
    std::unique_ptr<parser> parser_;
    std::array<char, io::receive_size> inbox_;
    std::string outbox_;
    bool waits_for_room_ = false;
    std::deque<expected> expected_;
    io::time_point asked_at_{};  // of the first of them, or later
    io::time_point last_heard_{};
    io::timer_id check_timer_;

    std::atomic<int> fd_for_abandon_{-1};
};

}  // namespace holdfast::redis
