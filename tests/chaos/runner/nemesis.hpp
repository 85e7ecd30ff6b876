// Does to clients, links and servers what the plan says.
#pragma once

#include "chaos/runner/crew.hpp"
#include "chaos/runner/plan.hpp"
#include "chaos/runner/topology.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace holdfast::chaos {

class nemesis {
  public:
    // `keys`: of the locks, those that may be deleted first.
    nemesis(topology& servers, crew& clients, std::vector<std::string> keys)
        : servers_(servers), clients_(clients), keys_(std::move(keys)) {}

    // Carries out the plan, from now on. Returns when all is well again, or soon after `enough` says so; what
    // has begun is then ended.
    void carry_out(const std::vector<planned>& all, milliseconds length, const std::function<bool()>& enough);
    // What was done; times are those of clock and not of the plan.
    [[nodiscard]] std::vector<fault> take_faults();

  private:
    // False: not now.
    [[nodiscard]] bool possible(const planned& p) const;
    void begin(const planned& p, fault& f);
    void end(const planned& p);
    void evict_from(unsigned lock, fault& f);
    // What is done to single servers and to their wires ends before anything is done to all of them: that may
    // wait until they have found to each other.
    void end_faults_of_single_servers(const std::vector<planned>& all);

    topology& servers_;
    crew& clients_;
    std::vector<std::string> keys_;
    std::set<unsigned> silent_;                // servers that would not answer now
    std::map<std::size_t, std::size_t> open_;  // of the plan what has begun and not ended: places in done_
    std::vector<fault> done_;
};

}  // namespace holdfast::chaos
