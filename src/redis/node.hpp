// One Redis server: one or several command links and a subscriber link. With sentinels it is whichever server
// is the master.
#pragma once

#include "base/annotations.hpp"
#include "redis/config.hpp"
#include "redis/database.hpp"
#include "redis/operation.hpp"
#include "redis/server_info.hpp"

#include "io/drivable.hpp"
#include "io/reactor.hpp"

#include <holdfast/replication.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::redis {

class link;
class sentinels;

// Reported on the reactor thread; the callback is short and never blocks.
struct node_event {
    enum class what {
        up,       // all connected; `server` is filled
        down,     // a connection is lost or cannot be made; see `why`. Once per loss, not per try
        refused,  // the server refuses us (password, database); tried again, seldom
    } kind;
    server_info server;      // of `up`
    bool restarted = false;  // of `up`: the server has restarted since the last connection
    std::string moved_from;  // of `up`: address of the former server, if it has changed
    fault why;               // of `down` and `refused`
    std::string address{};   // of `up`: the server's, if there are several
};

// While one exists, this thread promises to `drive` right after its commands, so the reactor need not read
// their replies. Without it everything works too, but each reply wakes the reactor thread: right for callers
// that never drive. Costs nothing; nests.
class will_drive {
  public:
    will_drive() noexcept { ++depth(); }
    will_drive(const will_drive&) = delete;
    will_drive& operator=(const will_drive&) = delete;
    ~will_drive() { --depth(); }

    [[nodiscard]] static bool here() noexcept { return depth() > 0; }

  private:
    friend class will_not_drive;
    static int& depth() noexcept {
        static thread_local int n = 0;
        return n;
    }
};

// Suspends an outer will_drive: for commands to several servers, since a thread can drive only one.
class will_not_drive {
  public:
    will_not_drive() noexcept : outside_(std::exchange(will_drive::depth(), 0)) {}
    will_not_drive(const will_not_drive&) = delete;
    will_not_drive& operator=(const will_not_drive&) = delete;
    ~will_not_drive() { will_drive::depth() = outside_; }

  private:
    const int outside_;
};

// Connects at once and stays connected. A command waits until its deadline for its connection to come up.
// With several connections (node_config::connections) the order of commands is kept per key only.
class node final : public database {
  public:
    // `on_event` and `redirect` may be empty. The reactor must outlive the node.
    node(const node_config&, io::reactor&, std::function<void(const node_event&)> on_event,
         redirector redirect = {});
    ~node() override;

    // Like the destructor, but threads may still be inside `drive`. May be repeated.
    void close();

    using database::command;
    void command(std::span<const std::string_view> args, time_point deadline, reply_handler) override;
    void eval(const script_ref&, std::span<const std::string_view> keys,
              std::span<const std::string_view> args, time_point deadline, reply_handler) override;
    void evals(std::span<const eval_call> calls, time_point deadline,
               std::function<void(std::vector<outcome>)> done) override;
    [[nodiscard]] std::unique_ptr<subscription> subscribe(std::string channel, sub_handler,
                                                          pubsub how = pubsub::plain) override;
    void command_everywhere(std::span<const std::string_view> args, time_point deadline,
                            std::function<void(std::vector<server_outcome>)> done) override;
    void command_at(const std::string& server, std::span<const std::string_view> args, time_point deadline,
                    reply_handler) override;
    void drive(base::parker& me, time_point until) override;
    [[nodiscard]] std::uint64_t commands_sent() const noexcept override;
    [[nodiscard]] std::chrono::nanoseconds smoothed_rtt() const noexcept override;
    void abandon() noexcept override;

    // For encoded requests. Those of one slot go over the same connection.
    void submit(std::vector<request>);
    void submit(request);
    // True if the calling thread sent its last command for which it will drive on this node.
    [[nodiscard]] bool sent_on_last() const noexcept;

    // For a thread that drives several nodes at once. Needs a single connection (node_config::connections).
    [[nodiscard]] io::drivable& connection() noexcept;

    // From the last connection; the fields are empty before the first.
    [[nodiscard]] server_info info() const;

  private:
    class gathered_events;
    [[nodiscard]] link& link_of(std::string_view key) const noexcept;
    [[nodiscard]] link& link_for_acks() EXCLUDES(mutex_);
    [[nodiscard]] link& link_for(const request&) EXCLUDES(mutex_);

    node_config config_;
    const redirector redirect_;
    io::reactor& reactor_;
    std::shared_ptr<sentinels> sentinels_;  // null: no sentinels
    std::vector<std::shared_ptr<link>> links_;
    std::unique_ptr<subscriber> subscriber_;
    base::mutex mutex_;
    bool closed_ GUARDED_BY(mutex_) = false;
    std::shared_ptr<link> for_acks_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::redis
