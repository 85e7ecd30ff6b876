// Where keys are kept, as the store of locks asks for it: one server (node) or a cluster of them (cluster).
#pragma once

#include "redis/outcome.hpp"
#include "redis/script.hpp"
#include "redis/subscriber.hpp"

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

// Thread-safe, but for construction and destruction. Commands on one key are executed and answered in the
// order in which they were given, unless the key moves to another server meanwhile. A key is a command's
// second word or a script's first key. Nothing here blocks but `drive` and the destructor, which waits for
// the reactor. A handler's contract is in outcome.hpp.
class database {
  public:
    database() = default;
    database(const database&) = delete;
    database& operator=(const database&) = delete;
    // Commands without an answer end with errc::closed. No thread may be inside `drive`.
    virtual ~database() = default;

    // After `deadline` a command that was not sent never will be (not_sent). One that was sent stays in
    // flight: its reply comes late, or no_answer when the connection is given up (command_timeout).
    virtual void command(std::span<const std::string_view> args, time_point deadline, reply_handler) = 0;
    void command(std::initializer_list<std::string_view> args, time_point deadline, reply_handler done) {
        command(std::span{args.begin(), args.size()}, deadline, std::move(done));
    }

    // EVALSHA; if the server does not know the script, EVAL, with the same handler and deadline.
    virtual void eval(const script_ref&, std::span<const std::string_view> keys,
                      std::span<const std::string_view> args, time_point deadline, reply_handler) = 0;

    // Several scripts, those for one connection in one write. `done` is called once, with the outcomes in the
    // order of the calls. Commands of other threads may run in between.
    struct eval_call {
        script_ref script;
        std::span<const std::string_view> keys;
        std::span<const std::string_view> args;
        // If any are wanted: sent whole and followed by WAIT, which tells how many replicas have what the
        // script wrote and what was written on its server before it; see take_apart. Goes over a connection
        // of its own, made when the first of these comes, because WAIT holds up all that follows it.
        replication replicas{};
    };
    virtual void evals(std::span<const eval_call> calls, time_point deadline,
                       std::function<void(std::vector<outcome>)> done) = 0;

    // See subscriber.hpp. The subscription must be destroyed before the database.
    [[nodiscard]] virtual std::unique_ptr<subscription> subscribe(std::string channel, sub_handler,
                                                                  pubsub how = pubsub::plain) = 0;

    // --- servers ------------------------------------------------------------------------------------
    // Keys of one script must have the same slot. On a single server all have; in a cluster see slots.hpp.
    [[nodiscard]] virtual bool is_cluster() const noexcept { return false; }
    [[nodiscard]] virtual std::uint16_t slot_of(std::string_view) const noexcept { return 0; }
    // How clients of other make publish here (docs/wire/).
    [[nodiscard]] virtual pubsub channels() const noexcept { return pubsub::plain; }

    // A command without a key, to each server that keeps keys.
    struct server_outcome {
        std::string server;  // for `command_at`
        outcome what;
    };
    virtual void command_everywhere(std::span<const std::string_view> args, time_point deadline,
                                    std::function<void(std::vector<server_outcome>)> done) = 0;
    virtual void command_at(const std::string& server, std::span<const std::string_view> args,
                            time_point deadline, reply_handler) = 0;

    // --- the calling thread -------------------------------------------------------------------------
    // Lends this thread to the connection that it has sent on last until `me` is unparked or `until` has
    // come. May also return for no reason (somebody else left and this thread is to take over), so always:
    //     while (!answered) { db.drive(me, until); me.consume(); }   // with a look at the clock
    // Check the answer *after* consume. Must not be called from a handler.
    virtual void drive(base::parker& me, time_point until) = 0;

    [[nodiscard]] virtual std::uint64_t commands_sent() const noexcept = 0;
    // Exponential average (1/8) of send-to-reply times; zero before the first reply.
    [[nodiscard]] virtual std::chrono::nanoseconds smoothed_rtt() const noexcept = 0;

    // In a forked child, where the reactor thread does not exist: close the sockets, run no handler, wait for
    // no lock, leak the rest; the destructor then does nothing.
    virtual void abandon() noexcept = 0;
};

// What came of a script that replicas were to confirm: its own outcome, and how many have confirmed it.
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

// Puts several outcomes together; the last to come calls the handler.
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
