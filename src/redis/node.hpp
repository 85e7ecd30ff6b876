// One Redis server as its users see it: one or several command links and a subscriber link.
#pragma once

#include "redis/config.hpp"
#include "redis/outcome.hpp"
#include "redis/script.hpp"
#include "redis/server_info.hpp"
#include "redis/subscriber.hpp"

#include "io/reactor.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

class link;

// Told on the reactor thread; the callback is short and never blocks.
struct node_event {
    enum class what {
        up,       // all connected; `server` is filled
        down,     // a connection is lost or cannot be made; `why` says so. Told once per loss, not per try
        refused,  // the server does not want us (password, database); tried again, seldom
    } kind;
    server_info server;      // of `up`
    bool restarted = false;  // of `up`: it is not the run of the server that we saw last
    fault why;               // of `down` and `refused`
};

// While one lives, commands of this thread count on a `drive` of the same thread that follows at once, so
// the reactor is not asked to read their replies. Without it everything works too, but the reactor thread
// is woken for each reply: right for callers that never drive. Costs nothing; nests.
class will_drive {
  public:
    will_drive() noexcept { ++depth(); }
    will_drive(const will_drive&) = delete;
    will_drive& operator=(const will_drive&) = delete;
    ~will_drive() { --depth(); }

    [[nodiscard]] static bool here() noexcept { return depth() > 0; }

  private:
    static int& depth() noexcept {
        static thread_local int n = 0;
        return n;
    }
};

// Thread-safe, but for construction and destruction. Connects at once and stays connected.
// Commands on one key are executed and answered in the order in which they were given, others too if there is
// one connection (node_config::connections). A key is a command's second word or a script's first key. A
// command given before its connection is up waits for it until its deadline. Nothing here blocks but `drive`
// and the destructor (which waits for the reactor). A handler's contract is in outcome.hpp.
class node {
  public:
    // `on_event` may be empty. The reactor must outlive the node.
    node(const node_config&, io::reactor&, std::function<void(const node_event&)> on_event);
    node(const node&) = delete;
    node& operator=(const node&) = delete;
    // Commands without an answer end with errc::closed. No thread may be inside `drive`.
    ~node();

    // After `deadline` a command that was not sent never will be (not_sent). One that was sent stays in
    // flight: its reply comes late, or no_answer when the connection is given up (command_timeout).
    void command(std::span<const std::string_view> args, time_point deadline, reply_handler);
    void command(std::initializer_list<std::string_view> args, time_point deadline, reply_handler done) {
        command(std::span{args.begin(), args.size()}, deadline, std::move(done));
    }

    // EVALSHA; if the server does not know the script, EVAL, with the same handler and deadline.
    void eval(const script_ref&, std::span<const std::string_view> keys,
              std::span<const std::string_view> args, time_point deadline, reply_handler);

    // Several scripts in one write, on the connection of the first. `done` is called once, with the outcomes
    // in the order of the calls. Commands of other threads may run in between.
    struct eval_call {
        script_ref script;
        std::span<const std::string_view> keys;
        std::span<const std::string_view> args;
    };
    void evals(std::span<const eval_call> calls, time_point deadline,
               std::function<void(std::vector<outcome>)> done);

    // See subscriber.hpp. The subscription must be destroyed before the node.
    [[nodiscard]] std::unique_ptr<subscription> subscribe(std::string channel, sub_handler);

    // Lends this thread to the connection that it has sent on last until `me` is unparked or `until` has
    // come. May also return for no reason (somebody else left and this thread is to take over), so always:
    //     while (!answered) { node.drive(me, until); me.consume(); }   // with a look at the clock
    // Check the answer *after* consume. Must not be called from a handler.
    void drive(backend::parker& me, time_point until);

    // Of the last connection; empty fields before the first.
    [[nodiscard]] server_info info() const;
    [[nodiscard]] std::uint64_t commands_sent() const noexcept;
    // Exponential average (1/8) of send-to-reply times; zero before the first reply.
    [[nodiscard]] std::chrono::nanoseconds smoothed_rtt() const noexcept;

    // In a forked child, where the reactor thread does not exist: close the sockets, run no handler, take no
    // lock, leak the rest; the destructor then does nothing.
    void abandon() noexcept;

  private:
    class gathered_events;
    [[nodiscard]] link& link_of(std::string_view key) const noexcept;

    std::vector<std::shared_ptr<link>> links_;
    std::unique_ptr<subscriber> subscriber_;
};

}  // namespace holdfast::redis
