// Three masters with a replica each. Clients and replicas reach a server over its wire.
#include "chaos/runner/order.hpp"
#include "chaos/runner/topology.hpp"
#include "support/cluster_scene.hpp"
#include "support/eventually.hpp"

#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace holdfast::chaos {

namespace {

using namespace std::chrono_literals;

class sharded final : public topology {
  public:
    sharded() {
        for (const auto& l : locks_of("holdfast", "cluster"))
            for (const auto& name : l.names()) names_.push_back(name);
    }

    [[nodiscard]] std::string url() const override { return scene_.url(); }
    [[nodiscard]] std::vector<test::redis_server*> lock_servers() override {
        std::vector<test::redis_server*> all;
        for (const auto n : scene_.masters()) all.push_back(&scene_.server(n));
        return all;
    }
    [[nodiscard]] std::vector<test::wire*> wires() override {
        std::vector<test::wire*> all;
        for (std::size_t i = 0; i < scene_.size(); ++i) all.push_back(&scene_.wire_to(i));
        return all;
    }
    [[nodiscard]] std::vector<test::redis_server*> servers() override {
        std::vector<test::redis_server*> all;
        for (std::size_t i = 0; i < scene_.size(); ++i) all.push_back(&scene_.server(i));
        return all;
    }
    [[nodiscard]] bool is_available(unsigned which) const override { return lost_ != which; }

    // One fault at a time: no replica knows yet of keys that were just moved, or of a master that just took
    // over.
    void begin(const planned& p) override {
        using enum trouble;
        look_for_masters();
        name_ = names_.at(p.amount % names_.size());
        slot_ = scene_.slot_of(name_);
        owner_ = scene_.owner_of(slot_);
        if (p.what == failover) {
            scene_.begin_fail_over(owner_);
            return;
        }
        if (p.what == slot_moves) {
            to_ = scene_.another_master(slot_);
            scene_.begin_move(slot_, to_);
            // Until the move ends, keys are on both sides or on the new one.
            if (p.amount % 2 == 0) scene_.move_keys(slot_, to_);
            return;
        }
        lost_ = owner_;
        if (p.what == replicas_cut_then_lost) {
            scene_.cut_replica_of(owner_);
            std::this_thread::sleep_for(milliseconds{p.amount});
        }
        if (p.what == master_stopped)
            scene_.pause(owner_);
        else
            scene_.kill(owner_);
        if (p.what == replicas_cut_then_lost) scene_.let_replicas_hear();
    }
    void end(const planned& p) override {
        if (p.what == trouble::slot_moves) {
            scene_.move_keys(slot_, to_);
            scene_.end_move(slot_, to_);
            await_replica_of_moved_keys();
            return;
        }
        // A failover by order gives up silently after five seconds.
        const bool changed = test::eventually(
            lost_ ? 60s : 6s, [this] { return scene_.owner_of(slot_) != owner_ && scene_.is_well(); });
        if (changed) masters_ = scene_.masters();
        if (!lost_) return;
        if (!changed) throw std::runtime_error{"no replica takes the place of a master of the cluster"};
        scene_.bring_back(*lost_);
        scene_.wire_to(*lost_).stall(false);  // nothing else does: its server was not available
        lost_.reset();
    }
    void mend() override {
        look_for_masters();
        for (auto* s : servers()) order(*s, {"CONFIG", "SET", "maxmemory", "0"});
    }

    [[nodiscard]] bool had_unplanned_failover() override { return std::exchange(unplanned_, false); }

  private:
    void look_for_masters() {
        scene_.wait_until_well();
        auto now = scene_.masters();
        unplanned_ = unplanned_ || now != masters_;
        masters_ = std::move(now);
    }
    // Makes a write of its own, since WAIT waits for the writes of its own connection.
    void await_replica_of_moved_keys() {
        const std::string written = "{" + name_ + "}moved";
        const bool there = test::eventually(test::patience, [&] {
            auto& owner = scene_.master_of(written);
            return owner.command({"SET", written, "1", "PX", "1"}).text == "OK" &&
                   owner.command({"WAIT", "1", "2000"}).number >= 1;
        });
        if (!there) throw std::runtime_error{"a slot has moved, and no replica receives its keys"};
    }

    test::cluster_scene scene_{{.masters = 3, .replicas = true, .users = {}, .wires = true}};
    std::vector<std::size_t> masters_ = scene_.masters();
    bool unplanned_ = false;
    std::vector<std::string> names_;  // of locks
    std::string name_;                // the lock whose slot the present fault concerns
    std::uint16_t slot_ = 0;
    std::size_t owner_ = 0, to_ = 0;
    std::optional<std::size_t> lost_;
};

}  // namespace

std::unique_ptr<topology> make_cluster(precautions) { return std::make_unique<sharded>(); }

std::span<const trouble> troubles_of_cluster() {
    using enum trouble;
    static constexpr trouble all[] = {
        client_stops,    client_killed,          wire_cut,    wire_stalls, wire_cut_soon,
        scripts_flushed, connections_shut,       memory_full, failover,    master_killed,
        master_stopped,  replicas_cut_then_lost, slot_moves};
    return all;
}

}  // namespace holdfast::chaos
