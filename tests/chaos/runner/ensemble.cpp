// The locks of an ensemble of ZooKeeper servers. The first client asks for sessions that many of its leases
// outlast.
#include "chaos/runner/ensemble.hpp"

#include "chaos/runner/topology.hpp"

#include <stdexcept>

namespace holdfast::chaos {

namespace {

test::zookeeper_servers::options settings_of(const ensemble::options& how) {
    test::zookeeper_servers::options all{.servers = ensemble::members, .tick = ensemble::tick, .wired = true};
    if (how.patience > 0) all.config.push_back("syncLimit=" + std::to_string(how.patience));
    return all;
}

}  // namespace

ensemble::ensemble(options wanted) : options_(wanted), servers_(settings_of(wanted)) {
    for (std::size_t n = 0; n < members; ++n) {
        to_servers_.at(n) = std::make_unique<test::wire>(servers_.port(n), test::wire::memory::none);
        of_first_.at(n) = std::make_unique<test::wire>(servers_.port(n), test::wire::memory::none);
    }
}

std::vector<test::wire*> ensemble::wires() const {
    std::vector<test::wire*> all;
    for (const auto& w : to_servers_) all.push_back(w.get());
    return all;
}

void ensemble::begin(const planned& p) {
    using enum trouble;
    if (p.what == client_cut_off) {
        for (const auto& w : of_first_) w->stall(true);
        return;
    }
    if (p.what == all_stopped) {
        for (std::size_t n = 0; n < members; ++n) pause(n);
        return;
    }
    const auto leader = servers_.leader();
    const auto one = (leader + 1 + p.amount % (members - 1)) % members;
    const auto other = members - leader - one;
    switch (p.what) {
        case master_killed: stop(leader); break;
        case master_stopped: pause(leader); break;
        case master_cut_off: servers_.cut_off(leader); break;
        case follower_cut_off: servers_.cut_between(leader, one); break;
        case quorum_lost:
            stop(one);
            stop(other);
            break;
        default: throw std::logic_error{"an ensemble has no such fault"};
    }
}

void ensemble::end(const planned& p) {
    if (options_.replaced && p.what == trouble::master_stopped) (void)servers_.leader();
    for (const auto n : paused_) servers_.resume(n);
    servers_.heal();
    for (const auto& w : of_first_) w->stall(false);
    for (const auto n : stopped_) servers_.start(n, false);
    paused_.clear();
    stopped_.clear();
}

void ensemble::mend() {
    for (std::size_t n = 0; n < members; ++n) servers_.await(n);
}

std::string ensemble::url_over(const wires_to_all& all) {
    std::string hosts;
    for (const auto& w : all) hosts += (hosts.empty() ? "" : ",127.0.0.1:") + std::to_string(w->port());
    return "zk://127.0.0.1:" + hosts + "?tick=" + std::to_string(tick.count()) + "ms";
}

void ensemble::stop(std::size_t n) {
    servers_.stop(n);
    stopped_.push_back(n);
}

void ensemble::pause(std::size_t n) {
    servers_.pause(n);
    paused_.push_back(n);
}

namespace {

class of_ensemble final : public topology {
  public:
    [[nodiscard]] std::string url() const override { return servers_.url(); }
    [[nodiscard]] std::string url_of_first() const override { return servers_.url_of_first(); }
    [[nodiscard]] std::string direct_url() override { return servers_.direct_url(); }
    [[nodiscard]] std::vector<test::redis_server*> lock_servers() override { return {}; }
    [[nodiscard]] std::vector<test::wire*> wires() override { return servers_.wires(); }

    void begin(const planned& p) override { servers_.begin(p); }
    void end(const planned& p) override { servers_.end(p); }
    void mend() override { servers_.mend(); }

  private:
    ensemble servers_{{}};
};

}  // namespace

std::unique_ptr<topology> make_ensemble(precautions) { return std::make_unique<of_ensemble>(); }

std::span<const trouble> troubles_of_ensemble() {
    using enum trouble;
    static constexpr trouble all[] = {client_stops,     client_killed,  wire_cut,       wire_stalls,
                                      wire_cut_soon,    master_killed,  master_stopped, master_cut_off,
                                      follower_cut_off, client_cut_off, quorum_lost,    holder_evicted};
    return all;
}

}  // namespace holdfast::chaos
