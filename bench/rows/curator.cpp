// Hand-offs in ZooKeeper, beside the recipes of Curator on the same server.
#include "rows/own_ensemble.hpp"
#include "rows/permits.hpp"
#include "rows/rows.hpp"
#include "rows/turns.hpp"
#include "support/peer.hpp"

#include <holdfast/holdfast.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

namespace holdfast::bench {

namespace {

constexpr int contenders = 8;

// Sessions of Curator in one JVM: eight JVMs are too many for two CPUs. Nothing else differs: a lock in
// ZooKeeper belongs to a session.
class curator_sessions {
  public:
    curator_sessions(const std::string& hosts, const char* kind)
        : kind_(kind), java_(test::start_in_zookeeper(hosts, "curator", 30s, test::java_for::measuring)) {
        (void)hand_offs(8s);  // Java compiles what it has run for a while
    }

    sample hand_offs(milliseconds span) {
        using std::chrono::system_clock;
        const auto until = std::chrono::duration_cast<milliseconds>(
            (system_clock::now() + span).time_since_epoch());  // Java has no other clock in common
        std::istringstream answer{
            java_->tell("main", "handoffs", kind_, "bench:java", {contenders, until.count()})};
        double turns = 0, changes = 0, least = 0, most = 0;
        if (!(answer >> turns >> changes >> least >> most))
            throw std::runtime_error("Curator's answer is not a count: " + answer.str());
        return {changes / std::chrono::duration<double>(span).count(),
                {{"least / most of a process", least / most}}};
    }

  private:
    std::string kind_;
    std::unique_ptr<test::peer> java_;
};

// Only what Curator reports, too.
side as_curators(side of) {
    of.run = [run = std::move(of.run)](milliseconds span) {
        auto s = run(span);
        s.extras = {{"least / most of a process", s.extras.at("least / most of a process")}};
        return s;
    };
    return of;
}

struct turns_beside_curator : row, own_ensemble {
    turns_beside_curator() : theirs(servers.hosts(), "mutex") {
        const auto no_work = [] {};
        sides = {
            {"InterProcessMutex", [this](milliseconds span) { return theirs.hand_offs(2 * span); }},
            as_curators(changes_of_owner("mutex", contenders, holdfast_process<mutex>(ours, 1, no_work))),
            as_curators(
                changes_of_owner("fair_mutex", contenders, holdfast_process<fair_mutex>(ours, 1, no_work)))};
        targets = {{"mutex", target::kind::ratio_at_least, 1},
                   {"mutex", target::kind::extra_at_least, 0.9, "least / most of a process"},
                   {"fair_mutex", target::kind::ratio_at_least, 1},
                   {"fair_mutex", target::kind::extra_at_least, 0.9, "least / most of a process"}};
    }

    curator_sessions theirs;
};

struct permits_beside_curator : row, own_ensemble {
    permits_beside_curator() : theirs(servers.hosts(), "two") {
        sides = {
            {"InterProcessSemaphoreV2", [this](milliseconds span) { return theirs.hand_offs(2 * span); }},
            as_curators(changes_of_owner("counting_semaphore", contenders, holdfast_permits(ours)))};
        targets = {{"counting_semaphore", target::kind::ratio_at_least, 1},
                   {"counting_semaphore", target::kind::extra_at_least, 0.9, "least / most of a process"}};
    }

    curator_sessions theirs;
};

}  // namespace

std::unique_ptr<row> curator_turns(redis_server&) { return std::make_unique<turns_beside_curator>(); }
std::unique_ptr<row> curator_semaphore(redis_server&) { return std::make_unique<permits_beside_curator>(); }

}  // namespace holdfast::bench
