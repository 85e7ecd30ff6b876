// The implementation of subscriber: its connection and the table of channels and listeners.
#pragma once

#include "base/annotations.hpp"
#include "redis/connection/reconnector.hpp"
#include "redis/pubsub/subscriber.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace holdfast::redis {

// One handler on one channel. The core's mutex guards the fields, but `handler` runs without it.
struct listener {
    std::string channel;
    sub_handler handler;
    bool left = false;
    bool running = false;   // the reactor runs the handler
    bool notified = false;  // received `subscribed` or `refused` for this connection
};

// join and leave run on any thread and only note what is wanted; the reactor carries it out. A channel:
//
//   wanted   server    then
//   yes      no        SUBSCRIBE; its confirmation is reported to the listeners
//   no       yes       UNSUBSCRIBE
//   no       no        the channel is erased after the last confirmation
//
// The server may also end a sharded subscription, when the slot moves to another server. The core then
// subscribes again, and the error names the new server.
//
// `server` is what the last command on this connection asked for, not what was confirmed.
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
        pubsub how = pubsub::plain;                        // guarded likewise
        // Reactor thread only.
        bool asked = false;        // the last command was SUBSCRIBE
        bool confirmed = false;    // and the server confirmed it
        bool refused = false;      // or refused it
        std::string refusal;       // with this error
        unsigned unconfirmed = 0;  // commands without a reply
    };
    // A reply that the server still owes; they come in order.
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
    void notify(const listeners&, const sub_event&);

    void connect();
    void on_connected(connected);
    void on_connect_failed(const connect_failure&);
    void on_moved(const host_port& to);
    void on_ready();
    void flush();
    void take(const reply&);
    void on_server_unsubscribed(const std::string& name);
    void lose(const std::string& why);
    void check_silence();
    void expect_answer();
    void arm_check(io::time_point);

    const node_config config_;
    io::reactor& reactor_;

    base::mutex mutex_;
    std::condition_variable_any handler_ended_;
    std::unordered_map<std::string, channel> channels_ GUARDED_BY(mutex_);  // erased by the reactor only
    std::vector<std::string> changed_ GUARDED_BY(mutex_);  // channels for the reactor to settle
    bool settle_posted_ GUARDED_BY(mutex_) = false;

    // Reactor thread only.
    bool closed_ = false;
    bool started_ = false;
    reconnector reconnector_;
    std::shared_ptr<io::stream> stream_;
    std::string address_;  // of stream_
    std::unique_ptr<parser> parser_;
    std::array<char, io::receive_size> inbox_;
    std::string outbox_;
    bool waits_for_room_ = false;
    std::deque<expected> expected_;
    io::time_point asked_at_{};  // when the first of them was asked, or later
    io::time_point last_received_{};
    io::timer_id check_timer_;

    std::atomic<int> fd_for_abandon_{-1};
};

}  // namespace holdfast::redis
