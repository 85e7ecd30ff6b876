// The servers of a run, and the wires to them. A topology is a file with a class like `single`, and a row in
// topologies.cpp.
#pragma once

#include "chaos/history/event.hpp"
#include "chaos/runner/locks.hpp"
#include "chaos/runner/order.hpp"
#include "chaos/runner/plan.hpp"
#include "chaos/runner/precautions.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"
#include "support/wire.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::chaos {

class topology {
  public:
    topology() = default;
    topology(const topology&) = delete;
    topology& operator=(const topology&) = delete;
    virtual ~topology() = default;

    // The address for clients.
    [[nodiscard]] virtual std::string url() const = 0;
    // The address for the first client, whose links are its own. Empty: it uses those of all.
    [[nodiscard]] virtual std::string url_of_first() const { return {}; }
    // The address for an operator, past all links.
    [[nodiscard]] virtual std::string direct_url() { return lock_servers().front()->url(); }
    // The servers that store the locks now, each some of them or all. Empty: the store is no Redis.
    [[nodiscard]] virtual std::vector<test::redis_server*> lock_servers() = 0;

    // The targets of faults; target numbers of a plan are places in these lists. No pointer is null.
    [[nodiscard]] virtual std::vector<test::fault_proxy*> links() { return {}; }
    [[nodiscard]] virtual std::vector<test::wire*> wires() { return {}; }
    [[nodiscard]] virtual std::vector<test::redis_server*> servers() { return {}; }
    // False: a fault of all servers uses this server, and a fault of its wire would be in the way.
    [[nodiscard]] virtual bool is_available(unsigned) const { return true; }

    // Deletes what the store keeps of a lock.
    virtual void remove(const std::string& lock) { order(*lock_servers().front(), {"DEL", lock}); }

    // Begins and ends a fault of all servers together. `end` may wait until it has taken effect.
    virtual void begin(const planned&) {}
    virtual void end(const planned&) {}
    // After a round: all servers run, and know of each other. May wait for it.
    virtual void mend() {}
    // The whole changes of the mode since the run began.
    [[nodiscard]] virtual std::vector<span_of_time> mode_changes() { return {}; }
    // Since the last call, and before the last `mend`, a master was replaced without a fault of the plan.
    // Servers of a busy machine may take each other for dead.
    [[nodiscard]] virtual bool had_unplanned_failover() { return false; }
};

struct topology_row {
    std::string_view name;
    std::string_view what;
    std::unique_ptr<topology> (*make)(precautions);
    // Only faults that respect the assumptions of docs/safety.md S2 with these servers.
    std::span<const trouble> (*troubles)();
    unsigned links, wires, servers;
    // Replicas that must have a grant before it counts, if precautions are taken.
    std::uint32_t replicas;
    // Where servers fail over, longer than a failover takes: else no lease outlives one.
    milliseconds lease;
    milliseconds round;
    // See campaign.cpp.
    milliseconds served_within;
};

[[nodiscard]] std::span<const topology_row> topologies() noexcept;

[[nodiscard]] std::unique_ptr<topology> make_single(precautions);
[[nodiscard]] std::unique_ptr<topology> make_sentinel(precautions);
[[nodiscard]] std::unique_ptr<topology> make_cluster(precautions);
[[nodiscard]] std::unique_ptr<topology> make_quorum(precautions);
[[nodiscard]] std::unique_ptr<topology> make_one_file(precautions);
[[nodiscard]] std::unique_ptr<topology> make_lock_files(precautions);
[[nodiscard]] std::unique_ptr<topology> make_one_table(precautions);
[[nodiscard]] std::unique_ptr<topology> make_one_table_of_mariadb(precautions);
[[nodiscard]] std::unique_ptr<topology> make_ensemble(precautions);
[[nodiscard]] std::unique_ptr<topology> make_joint(precautions);
[[nodiscard]] std::unique_ptr<topology> make_joint_by_ensemble(precautions);
[[nodiscard]] std::unique_ptr<topology> make_joint_with_ensemble(precautions);
[[nodiscard]] std::span<const trouble> troubles_of_single();
[[nodiscard]] std::span<const trouble> troubles_of_sentinel();
[[nodiscard]] std::span<const trouble> troubles_of_cluster();
[[nodiscard]] std::span<const trouble> troubles_of_quorum();
[[nodiscard]] std::span<const trouble> troubles_of_one_file();
[[nodiscard]] std::span<const trouble> troubles_of_lock_files();
[[nodiscard]] std::span<const trouble> troubles_of_one_table();
[[nodiscard]] std::span<const trouble> troubles_of_one_table_of_mariadb();
[[nodiscard]] std::span<const trouble> troubles_of_ensemble();
[[nodiscard]] std::span<const trouble> troubles_of_joint();
[[nodiscard]] std::span<const trouble> troubles_of_joint_by_ensemble();

}  // namespace holdfast::chaos
