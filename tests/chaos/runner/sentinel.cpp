// A master, two replicas and three sentinels. Clients, sentinels and servers reach a server over its wire.
#include "chaos/runner/order.hpp"
#include "chaos/runner/topology.hpp"
#include "support/sentinel_scene.hpp"

#include <optional>
#include <thread>
#include <utility>

namespace holdfast::chaos {

namespace {

class watched final : public topology {
  public:
    [[nodiscard]] std::string url() const override { return scene_.url("connect_timeout=500ms"); }
    [[nodiscard]] std::vector<test::redis_server*> lock_servers() override { return {&scene_.master()}; }
    [[nodiscard]] std::vector<test::wire*> wires() override {
        std::vector<test::wire*> all;
        for (std::size_t i = 0; i < scene_.servers; ++i) all.push_back(&scene_.wire_to(i));
        return all;
    }
    [[nodiscard]] std::vector<test::redis_server*> servers() override {
        std::vector<test::redis_server*> all;
        for (std::size_t i = 0; i < scene_.servers; ++i) all.push_back(&scene_.server(i));
        return all;
    }
    [[nodiscard]] bool is_available(unsigned which) const override { return lost_ != which; }

    // One failover at a time: a second one may lose writes of the first that not all servers have yet.
    void begin(const planned& p) override {
        using enum trouble;
        mend_and_look_for_master();
        const auto master = scene_.master_index();
        if (p.what == failover) {
            scene_.begin_fail_over();
            return;
        }
        lost_ = master;
        switch (p.what) {
            case master_killed: scene_.server(master).stop(); break;
            case master_stopped: scene_.server(master).pause(); break;
            case master_cut_off: scene_.wire_to(master).stall(true); break;
            case replicas_cut_then_lost:
                scene_.cut_replicas();
                std::this_thread::sleep_for(milliseconds{p.amount});
                scene_.server(master).stop();
                scene_.let_replicas_hear();
                break;
            default: throw std::logic_error{"sentinels have no such fault"};
        }
    }
    void end(const planned&) override {
        if (lost_) {
            scene_.await_failover();
            scene_.bring_back(*lost_);
            lost_.reset();
        } else {
            scene_.end_fail_over();
        }
        master_ = scene_.master_index();
    }
    void mend() override {
        mend_and_look_for_master();
        for (auto* s : servers()) order(*s, {"CONFIG", "SET", "maxmemory", "0"});
    }

    [[nodiscard]] bool had_unplanned_failover() override { return std::exchange(unplanned_, false); }

  private:
    void mend_and_look_for_master() {
        scene_.heal();
        unplanned_ = unplanned_ || scene_.master_index() != master_;
        master_ = scene_.master_index();
    }

    test::sentinel_scene scene_;
    std::optional<std::size_t> lost_;
    std::size_t master_ = scene_.master_index();
    bool unplanned_ = false;
};

}  // namespace

std::unique_ptr<topology> make_sentinel(precautions) { return std::make_unique<watched>(); }

std::span<const trouble> troubles_of_sentinel() {
    using enum trouble;
    static constexpr trouble all[] = {
        client_stops,          client_killed, wire_cut, wire_stalls,   wire_cut_soon,  scripts_flushed,
        connections_shut,      memory_full,   failover, master_killed, master_stopped, master_cut_off,
        replicas_cut_then_lost};
    return all;
}

}  // namespace holdfast::chaos
