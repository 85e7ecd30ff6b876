// Carries out a plan of faults on clients, links and servers.
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
    // `keys`: the keys of the locks; those that may be deleted come first.
    nemesis(topology& servers, crew& clients, std::vector<std::string> keys)
        : servers_(servers), clients_(clients), keys_(std::move(keys)) {}

    // Carries out the plan from now on. Returns when all faults have ended, or soon after `enough` returns
    // true; then it ends the faults that have begun.
    void carry_out(const std::vector<planned>& all, milliseconds length, const std::function<bool()>& enough);
    // The faults that were carried out, with times of the clock and not of the plan.
    [[nodiscard]] std::vector<fault> take_faults();

  private:
    // False: the target cannot have this fault now.
    [[nodiscard]] bool possible(const planned& p) const;
    void begin(const planned& p, fault& f);
    void end(const planned& p);
    void evict_from(unsigned lock, fault& f);
    // Faults of single servers and wires end before a fault of all servers begins: it may wait until all
    // servers have found each other.
    void end_faults_of_single_servers(const std::vector<planned>& all);

    topology& servers_;
    crew& clients_;
    std::vector<std::string> keys_;
    std::set<unsigned> silent_;                // servers that would not answer now
    std::map<std::size_t, std::size_t> open_;  // faults under way: place in the plan, place in done_
    std::vector<fault> done_;
};

}  // namespace holdfast::chaos
