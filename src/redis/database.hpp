// The interface through which the lock store reaches its keys: one server (node) or a cluster (cluster).
#pragma once

#include "redis/protocol/outcome.hpp"
#include "redis/protocol/script.hpp"
#include "redis/pubsub/subscriber.hpp"

#include <holdfast/replication.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::base {
class parker;
}

namespace holdfast::redis {

// Thread-safe, except for construction and destruction. Commands on one key are executed and answered in the
// order of the calls, unless the key moves to another server meanwhile. The key is a command's second word or
// a script's first key. Only `run_io` and the destructor block; the destructor waits for the reactor.
// outcome.hpp has the contract of handlers.
class database {
  public:
    database() = default;
    database(const database&) = delete;
    database& operator=(const database&) = delete;
    // Commands without an answer end with errc::closed. No thread may be inside `run_io`.
    virtual ~database() = default;

    // A command that is not sent by `deadline` never is (not_sent). A command that was sent stays in flight:
    // its reply comes late, or no_answer when the connection is given up (command_timeout).
    virtual void command(std::span<const std::string_view> args, time_point deadline, reply_handler) = 0;
    void command(std::initializer_list<std::string_view> args, time_point deadline, reply_handler done) {
        command(std::span{args.begin(), args.size()}, deadline, std::move(done));
    }

    // Sends EVALSHA and, if the server does not know the script, EVAL with the same handler and deadline.
    virtual void eval(const script_ref&, std::span<const std::string_view> keys,
                      std::span<const std::string_view> args, time_point deadline, reply_handler) = 0;

    // Sends several scripts, those for one connection in one write. Calls `done` once, with the outcomes in
    // the order of the calls. Commands of other threads may run in between.
    struct eval_call {
        script_ref script;
        std::span<const std::string_view> keys;
        std::span<const std::string_view> args;
        // If replicas are wanted, the script is sent whole and followed by WAIT. WAIT returns how many
        // replicas have the writes of the script and all writes before it on its server; see take_apart. Uses
        // a separate connection, made at the first such call, because WAIT blocks all that follows it.
        replication replicas{};
    };
    virtual void evals(std::span<const eval_call> calls, time_point deadline,
                       std::function<void(std::vector<outcome>)> done) = 0;

    // See subscriber.hpp. The subscription must be destroyed before the database.
    [[nodiscard]] virtual std::unique_ptr<subscription> subscribe(std::string channel, sub_handler,
                                                                  pubsub how = pubsub::plain) = 0;

    // --- servers ------------------------------------------------------------------------------------
    // All keys of one script must have the same slot. On a single server they do; for a cluster see
    // slots.hpp.
    [[nodiscard]] virtual bool is_cluster() const noexcept { return false; }
    [[nodiscard]] virtual std::uint16_t slot_of(std::string_view) const noexcept { return 0; }
    // The server that has this key, as far as it is known: "127.0.0.1:7000". Empty on a single server.
    [[nodiscard]] virtual std::string server_of(std::string_view) const { return {}; }
    // How other client libraries publish here (docs/wire/).
    [[nodiscard]] virtual pubsub channels() const noexcept { return pubsub::plain; }

    // Sends a command without a key to each server that keeps keys.
    struct server_outcome {
        std::string server;  // for `command_at`
        outcome what;
    };
    virtual void command_everywhere(std::span<const std::string_view> args, time_point deadline,
                                    std::function<void(std::vector<server_outcome>)> done) = 0;
    virtual void command_at(const std::string& server, std::span<const std::string_view> args,
                            time_point deadline, reply_handler) = 0;

    // --- the calling thread -------------------------------------------------------------------------
    // Lends this thread to the connection that it sent on last until `me` is unparked or `until` has come.
    // May return without a reason (another thread left and this one is to take over), so always:
    //     while (!answered) { db.run_io(me, until); me.consume(); }   // and check the clock
    // Check the answer *after* consume. Must not be called from a handler.
    virtual void run_io(base::parker& me, time_point until) = 0;

    [[nodiscard]] virtual std::uint64_t commands_sent() const noexcept = 0;
    // Exponential average (1/8) of send-to-reply times; zero before the first reply.
    [[nodiscard]] virtual std::chrono::nanoseconds smoothed_rtt() const noexcept = 0;

    // For a forked child, where the reactor thread does not exist: closes the sockets, runs no handler, waits
    // for no lock and leaks the rest; the destructor then does nothing.
    virtual void abandon() noexcept = 0;
};

// The outcome of a script that replicas had to confirm, and how many of them have confirmed it.
struct acked {
    outcome of_script;
    std::uint32_t replicas = 0;
};
[[nodiscard]] inline acked take_apart(outcome&& o) {
    auto* const both = std::get_if<reply>(&o);
    if (both == nullptr || both->items().size() != 2) return {std::move(o)};
    auto parts = std::move(*both).take_items();
    if (parts[1].is_error()) return {std::move(parts[1])};
    return {std::move(parts[0]), static_cast<std::uint32_t>(parts[1].integer())};
}

// Collects several outcomes; the last one to arrive calls the handler.
class gathered_outcomes {
  public:
    gathered_outcomes(std::size_t n, std::function<void(std::vector<outcome>)> done)
        : outcomes_(n), missing_(n), done_(std::move(done)) {}

    void take(std::size_t at, outcome o) {
        outcomes_[at] = std::move(o);
        if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_(std::move(outcomes_));
    }

  private:
    std::vector<outcome> outcomes_;
    std::atomic<std::size_t> missing_;
    std::function<void(std::vector<outcome>)> done_;
};

}  // namespace holdfast::redis
