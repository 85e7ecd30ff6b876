// One Redis server: one or several command links and a subscriber link. With sentinels it is whichever server
// is the master.
#pragma once

#include "base/annotations.hpp"
#include "redis/config/node_config.hpp"
#include "redis/connection/operation.hpp"
#include "redis/connection/server_info.hpp"
#include "redis/connection/will_run_io.hpp"
#include "redis/database.hpp"
#include "redis/node_event.hpp"

#include "io/pollable.hpp"
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

// Connects at once and stays connected. A command waits until its deadline for its connection to come up.
// With several connections (node_config::connections) the order of commands is kept per key only.
class node final : public database {
  public:
    // `on_event` and `redirect` may be empty. The reactor must outlive the node.
    node(const node_config&, io::reactor&, std::function<void(const node_event&)> on_event,
         redirector redirect = {});
    ~node() override;

    // Like the destructor, but threads may still be inside `run_io`. May be repeated.
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
    void run_io(base::parker& me, time_point until) override;
    [[nodiscard]] std::uint64_t commands_sent() const noexcept override;
    [[nodiscard]] std::chrono::nanoseconds smoothed_rtt() const noexcept override;
    void abandon() noexcept override;

    // For encoded requests. Those of one slot go over the same connection.
    void submit(std::vector<request>);
    void submit(request);
    // True if the calling thread sent its last command for which it will call run_io on this node.
    [[nodiscard]] bool sent_on_last() const noexcept;

    // For a thread that runs the I/O of several nodes at once. Needs a single connection
    // (node_config::connections).
    [[nodiscard]] io::pollable& connection() noexcept;

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
