// Three ZooKeeper servers. Clients reach each over a wire, and so do the servers each other. The first client
// has wires of its own, and asks for sessions that many of its leases outlast.
#include "chaos/runner/topology.hpp"
#include "support/zookeeper_server.hpp"

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::chaos {

namespace {

constexpr std::size_t members = 3;

class ensemble final : public topology {
  public:
    ensemble() {
        for (std::size_t n = 0; n < members; ++n) {
            to_servers_.at(n) = std::make_unique<test::wire>(servers_.port(n), test::wire::memory::none);
            of_first_.at(n) = std::make_unique<test::wire>(servers_.port(n), test::wire::memory::none);
        }
    }

    [[nodiscard]] std::string url() const override { return url_over(to_servers_); }
    [[nodiscard]] std::string url_of_first() const override { return url_over(of_first_); }
    [[nodiscard]] std::string direct_url() override { return servers_.url(); }
    [[nodiscard]] std::vector<test::redis_server*> lock_servers() override { return {}; }
    [[nodiscard]] std::vector<test::wire*> wires() override {
        std::vector<test::wire*> all;
        for (const auto& w : to_servers_) all.push_back(w.get());
        return all;
    }

    void begin(const planned& p) override {
        using enum trouble;
        if (p.what == client_cut_off) {
            for (const auto& w : of_first_) w->stall(true);
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
    void end(const planned&) override {
        servers_.heal();
        for (const auto& w : of_first_) w->stall(false);
        for (const auto n : paused_) servers_.resume(n);
        for (const auto n : stopped_) servers_.start(n, false);
        paused_.clear();
        stopped_.clear();
    }
    void mend() override {
        for (std::size_t n = 0; n < members; ++n) servers_.await(n);
    }

  private:
    using wires_to_all = std::array<std::unique_ptr<test::wire>, members>;

    [[nodiscard]] static std::string url_over(const wires_to_all& all) {
        std::string hosts;
        for (const auto& w : all) hosts += (hosts.empty() ? "" : ",127.0.0.1:") + std::to_string(w->port());
        return "zk://127.0.0.1:" + hosts + "?tick=" + std::to_string(tick.count()) + "ms";
    }
    void stop(std::size_t n) {
        servers_.stop(n);
        stopped_.push_back(n);
    }
    void pause(std::size_t n) {
        servers_.pause(n);
        paused_.push_back(n);
    }

    static constexpr milliseconds tick{200};
    test::zookeeper_servers servers_{{.servers = members, .tick = tick, .wired = true}};
    wires_to_all to_servers_, of_first_;
    std::vector<std::size_t> paused_, stopped_;
};

}  // namespace

std::unique_ptr<topology> make_ensemble(precautions) { return std::make_unique<ensemble>(); }

std::span<const trouble> troubles_of_ensemble() {
    using enum trouble;
    static constexpr trouble all[] = {client_stops,     client_killed,  wire_cut,       wire_stalls,
                                      wire_cut_soon,    master_killed,  master_stopped, master_cut_off,
                                      follower_cut_off, client_cut_off, quorum_lost,    holder_evicted};
    return all;
}

}  // namespace holdfast::chaos
