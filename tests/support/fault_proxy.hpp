// A network that fails on cue: a TCP proxy in front of one redis-server that knows where messages begin and
// end.
#pragma once

#include "support/loopback.hpp"
#include "support/unique_fd.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::test {

class redis_server;

// Whether a rule applies to this command. Runs on the proxy's thread, with its lock held: do not call the
// proxy.
using command_predicate = std::function<bool(const std::vector<std::string>& words)>;

// The command has this name, whatever its case.
[[nodiscard]] command_predicate named(std::string name);

// Listens from construction to destruction on a free port of 127.0.0.1. Faults depend on which command or
// reply passes, never on time. Every function takes effect before it returns, for bytes that have not passed
// yet. All functions may be called from any thread.
//
// Speaks RESP2. Matches replies to commands, with pipelines and subscriptions too. Does not support MONITOR
// or CLIENT REPLY OFF, and UNSUBSCRIBE must name its channels.
class fault_proxy {
  public:
    // Whether `count_of` and `commands` know what has passed. It adds up when a proxy lives for hours.
    enum class memory { all_commands, none };

    // For the server's port and password. The server may be stopped and started meanwhile.
    explicit fault_proxy(const redis_server& server, memory keeps = memory::all_commands);
    fault_proxy(const fault_proxy&) = delete;
    fault_proxy& operator=(const fault_proxy&) = delete;
    ~fault_proxy();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }
    // As redis_server::url, through the proxy.
    [[nodiscard]] std::string url() const;

    // --- rules: each fires once, on the nth matching command from now -------------------------------
    // The server executes the command; its reply is swallowed and the connection is cut.
    void drop_reply_of(command_predicate which, int nth = 1);
    // The command does not reach the server; the connection is cut.
    void drop_command(command_predicate which, int nth = 1);
    // The server executes the command; its reply, and all after it on that connection, wait for
    // `release_replies`.
    void hold_reply_of(command_predicate which, int nth = 1);
    void release_replies();
    // Rules that did not fire are forgotten.
    void clear_rules();

    // --- the network as a whole ---------------------------------------------------------------------
    // Nothing passes in either direction and no connection closes: the peer vanishes. New ones hang too.
    void stall();
    void resume();
    // Closes every connection, both ends.
    void cut_all();
    // New connections are refused, as by a machine where nothing listens. Existing ones go on.
    void refuse_new(bool refuse);
    // Published messages are lost on their way to subscribers; subscribing itself works.
    void swallow_messages(bool swallow);
    // Replies and messages arrive this much later, from now on.
    void delay(std::chrono::milliseconds by);
    // On every other connection, those of subscribers not counted: replies arrive this much later from now
    // on, and after three times as long commands stay where they are, while the replies under way still
    // arrive.
    void hold_commands_after(std::chrono::milliseconds lag);
    // Everything passes as before again, the held commands first.
    void pass_held_commands();

    // --- what has passed so far ---------------------------------------------------------------------
    struct counts {
        std::size_t accepted = 0;  // connections
        std::size_t open = 0;      // of them, now
        std::size_t commands = 0;  // received from clients, lost ones too
        std::size_t replies = 0;   // sent to clients
        std::size_t messages = 0;  // published messages sent to subscribers
        std::size_t rules_fired = 0;
        std::size_t replies_held = 0;  // rules of hold_reply_of whose reply is waiting now
        std::size_t messages_swallowed = 0;
        std::size_t commands_held = 0;  // connections whose commands are held back now
    };
    [[nodiscard]] counts count() const;
    [[nodiscard]] std::size_t count_of(const command_predicate& which) const;
    // The words of all commands in the order in which they passed.
    [[nodiscard]] std::vector<std::vector<std::string>> commands() const;

  private:
    using clock = std::chrono::steady_clock;

    enum class fate { pass, lose_command, lose_reply, hold_reply };
    struct rule {
        command_predicate which;
        int nth;
        fate then;
    };
    // Bytes on their way to a client, and when they arrive.
    struct parcel {
        clock::time_point due;
        std::string bytes;
    };
    struct connection {
        unique_fd client;
        unique_fd server;
        std::string from_client;  // not yet a whole command
        std::string to_server;
        std::string from_server;  // not yet a whole message, or held
        std::deque<parcel> to_client;
        std::deque<fate> replies_due;  // of the commands that the server has not answered yet
        bool subscriber = false;
        bool held = false;
        std::chrono::milliseconds lag{0};  // of replies, beside `delay_`
        bool commands_held = false;        // nothing is read from the client
        bool cut_when_sent = false;        // nothing more is read; what is in to_client still goes out
        bool dead = false;
    };

    void run();
    void accept_one();
    void serve(connection& c, short client_events, short server_events);
    void read_client(connection& c);
    void read_server(connection& c);
    void pass_commands(connection& c);
    void pass_replies(connection& c);
    void write_server(connection& c);
    void write_client(connection& c);
    [[nodiscard]] fate fate_of(const std::vector<std::string>& words);
    void add_rule(command_predicate which, int nth, fate then);
    // Call with the mutex held, after each change that the thread must see before it touches another byte.
    void changed();

    std::uint16_t server_port_;
    std::string password_;
    const memory keeps_;
    reserved_port port_;
    unique_fd wake_;  // eventfd that ends the poll

    mutable std::mutex mutex_;  // guards everything below; the thread holds it except in its poll
    unique_fd listener_;
    std::list<connection> connections_;
    std::vector<rule> rules_;
    std::vector<std::vector<std::string>> commands_;
    counts counts_;
    std::chrono::milliseconds delay_{0};
    clock::time_point hold_commands_at_ = clock::time_point::max();
    bool stalled_ = false;
    bool refusing_ = false;
    bool swallowing_ = false;
    bool stopping_ = false;
    bool changed_ = false;  // since the last look of the thread

    std::thread thread_;
};

}  // namespace holdfast::test
