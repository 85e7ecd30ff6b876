// A Redis Cluster as its users see it: one database, whose keys are spread over several masters by their
// slots.
#pragma once

#include "redis/cluster_config.hpp"
#include "redis/database.hpp"
#include "redis/node.hpp"

namespace holdfast::redis {

class cluster_core;

// A node per master, made when it is first needed. Which slots it serves is asked of any server at the start,
// and again when a server says MOVED or is lost. A command waits until its deadline for a server of its slot
// to be known and connected; where the slot moves meanwhile, the command goes along: its deadline stays, and
// after a few redirections it ends as not sent.
//
// An error TRYAGAIN (the keys of one command are on two servers, as a slot moves) or CLUSTERDOWN is the
// caller's to judge: errc::busy_server, nothing was changed.
class cluster final : public database {
  public:
    // `on_event` may be empty: `down` and `refused` for each master that is lost, `up` for each that comes
    // while none is missing. Connects at once. The reactor must outlive the cluster.
    cluster(cluster_config, io::reactor&, std::function<void(const node_event&)> on_event);
    ~cluster() override;

    using database::command;
    void command(std::span<const std::string_view> args, time_point deadline, reply_handler) override;
    void eval(const script_ref&, std::span<const std::string_view> keys,
              std::span<const std::string_view> args, time_point deadline, reply_handler) override;
    void evals(std::span<const eval_call> calls, time_point deadline,
               std::function<void(std::vector<outcome>)> done) override;
    // Stays with the channel's slot; `broken` is told where it moves.
    [[nodiscard]] std::unique_ptr<subscription> subscribe(std::string channel, sub_handler,
                                                          pubsub how = pubsub::plain) override;

    [[nodiscard]] bool is_cluster() const noexcept override { return true; }
    [[nodiscard]] std::uint16_t slot_of(std::string_view key) const noexcept override;
    // cluster_config::sharded. Before the first server was asked: sharded.
    [[nodiscard]] pubsub channels() const noexcept override;

    void command_everywhere(std::span<const std::string_view> args, time_point deadline,
                            std::function<void(std::vector<server_outcome>)> done) override;
    void command_at(const std::string& server, std::span<const std::string_view> args, time_point deadline,
                    reply_handler) override;

    void drive(base::parker& me, time_point until) override;
    [[nodiscard]] std::uint64_t commands_sent() const noexcept override;
    [[nodiscard]] std::chrono::nanoseconds smoothed_rtt() const noexcept override;
    void abandon() noexcept override;

  private:
    std::shared_ptr<cluster_core> core_;
};

}  // namespace holdfast::redis
