// A Redis Cluster as one database, whose keys are spread over several masters by their slots.
#pragma once

#include "redis/cluster/cluster_config.hpp"
#include "redis/database.hpp"
#include "redis/node/node.hpp"

namespace holdfast::redis {

class cluster_core;

// Has one node per master, made when it is first needed. Asks any server for the slot map at the start, and
// again when a server replies MOVED or is lost. A command waits until its deadline for the server of its slot
// to be known and connected. If the slot moves meanwhile, the command follows it: it keeps its deadline, and
// after a few redirections it ends as not sent.
//
// The errors TRYAGAIN (the keys of a command are on two servers while the slot moves) and CLUSTERDOWN go to
// the caller: errc::busy_server, nothing was changed.
class cluster final : public database {
  public:
    // `on_event` may be empty. It receives `down` or `refused` for each lost master, and `up` for each that
    // connects while none is missing. Connects at once. The reactor must outlive the cluster.
    cluster(cluster_config, io::reactor&, std::function<void(const node_event&)> on_event);
    ~cluster() override;

    using database::command;
    void command(std::span<const std::string_view> args, time_point deadline, reply_handler) override;
    void eval(const script_ref&, std::span<const std::string_view> keys,
              std::span<const std::string_view> args, time_point deadline, reply_handler) override;
    void evals(std::span<const eval_call> calls, time_point deadline,
               std::function<void(std::vector<outcome>)> done) override;
    // Follows the channel's slot; the handler receives `broken` when it moves.
    [[nodiscard]] std::unique_ptr<subscription> subscribe(std::string channel, sub_handler,
                                                          pubsub how = pubsub::plain) override;

    [[nodiscard]] bool is_cluster() const noexcept override { return true; }
    [[nodiscard]] std::uint16_t slot_of(std::string_view key) const noexcept override;
    [[nodiscard]] std::string server_of(std::string_view key) const override;
    // As in cluster_config::sharded; in automatic mode `sharded` until the first server has answered.
    [[nodiscard]] pubsub channels() const noexcept override;

    void command_everywhere(std::span<const std::string_view> args, time_point deadline,
                            std::function<void(std::vector<server_outcome>)> done) override;
    void command_at(const std::string& server, std::span<const std::string_view> args, time_point deadline,
                    reply_handler) override;

    void run_io(base::parker& me, time_point until) override;
    [[nodiscard]] std::uint64_t commands_sent() const noexcept override;
    [[nodiscard]] std::chrono::nanoseconds smoothed_rtt() const noexcept override;
    void abandon() noexcept override;

  private:
    std::shared_ptr<cluster_core> core_;
};

}  // namespace holdfast::redis
