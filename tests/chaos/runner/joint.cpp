// Two stores, one at a time: a Redis behind a link, and an SQLite file or an ensemble of ZooKeeper servers.
// The arbiter is that file or that ensemble.
#include "chaos/runner/ensemble.hpp"
#include "chaos/runner/mode_operator.hpp"
#include "chaos/runner/topology.hpp"

#include <memory>
#include <string>

namespace holdfast::chaos {

namespace {

using namespace std::chrono_literals;

constexpr auto mode_lease = 1'000ms;

class joint : public topology {
  public:
    explicit joint(precautions care) : care_(care) {}

    // One for all: clients of a group must write the same levels.
    [[nodiscard]] std::string url() const override { return url_with(file_url()); }
    [[nodiscard]] std::string direct_url() override { return url(); }
    [[nodiscard]] std::vector<test::redis_server*> lock_servers() override { return {}; }
    [[nodiscard]] std::vector<test::fault_proxy*> links() override { return {&link_}; }
    [[nodiscard]] std::vector<test::redis_server*> servers() override { return {&server_}; }

    void begin(const planned& p) override {
        if (!operator_) operator_ = std::make_unique<mode_operator>(direct_url(), arbiter_url(), care_);
        if (p.what == trouble::mode_changes) operator_->want_the_other();
        if (p.what == trouble::mode_keeps_changing) operator_->keep_changing(p.amount);
    }
    void end(const planned& p) override {
        if (p.what == trouble::mode_keeps_changing) operator_->rest();
    }
    void mend() override {
        if (operator_) operator_->await();
    }
    [[nodiscard]] std::vector<span_of_time> mode_changes() override {
        return operator_ ? operator_->changes() : std::vector<span_of_time>{};
    }

  protected:
    // The last level is the arbiter, unless another store is.
    [[nodiscard]] std::string url_with(const std::string& second, const std::string& arbiter = {}) const {
        return "joint:" + (arbiter.empty() ? "" : "arbiter=" + arbiter + ',') +
               "mode_lease=" + std::to_string(mode_lease.count()) + "ms,max_skew=0ms," + link_.url() +
               "?longest_lease=2400ms," + second;
    }
    [[nodiscard]] std::string file_url() const { return "sqlite:" + path_; }
    [[nodiscard]] virtual std::string arbiter_url() const { return file_url(); }

  private:
    const precautions care_;
    const test::temp_dir folder_;
    const std::string path_ = (folder_.path() / "locks.db").string();
    test::redis_server server_{{.disk = test::redis_server::persistence::append_only}};
    test::fault_proxy link_{server_, test::fault_proxy::memory::none};
    std::unique_ptr<mode_operator> operator_;
};

// A server that is cut off answers what it has for three seconds, time for a change of the mode.
class joint_by_ensemble : public joint {
  public:
    using joint::joint;

    [[nodiscard]] std::string url() const override { return over(arbiter_.url()); }
    [[nodiscard]] std::string url_of_first() const override { return over(arbiter_.url_of_first()); }
    [[nodiscard]] std::string direct_url() override { return over(arbiter_.direct_url()); }
    [[nodiscard]] std::vector<test::wire*> wires() override { return arbiter_.wires(); }

    void begin(const planned& p) override {
        kind_of(p.what) == target_kind::group ? joint::begin(p) : arbiter_.begin(p);
    }
    void end(const planned& p) override {
        kind_of(p.what) == target_kind::group ? joint::end(p) : arbiter_.end(p);
    }
    void mend() override {
        arbiter_.mend();
        joint::mend();
    }

  protected:
    [[nodiscard]] virtual std::string over(const std::string& ensemble) const {
        return url_with(file_url(), ensemble);
    }

  private:
    [[nodiscard]] std::string arbiter_url() const override { return arbiter_.direct_url(); }

    ensemble arbiter_{{.patience = 15, .replaced = true}};
};

// The ensemble has locks, too: its faults end leases and stop the modes.
class joint_with_ensemble final : public joint_by_ensemble {
  public:
    using joint_by_ensemble::joint_by_ensemble;

    // One for all: see above.
    [[nodiscard]] std::string url_of_first() const override { return url(); }
    [[nodiscard]] std::string direct_url() override { return url(); }

  private:
    [[nodiscard]] std::string over(const std::string& ensemble) const override { return url_with(ensemble); }
};

}  // namespace

std::unique_ptr<topology> make_joint_with_ensemble(precautions care) {
    return std::make_unique<joint_with_ensemble>(care);
}
std::unique_ptr<topology> make_joint(precautions care) { return std::make_unique<joint>(care); }
std::unique_ptr<topology> make_joint_by_ensemble(precautions care) {
    return std::make_unique<joint_by_ensemble>(care);
}

std::span<const trouble> troubles_of_joint() {
    using enum trouble;
    static constexpr trouble all[] = {
        client_stops,   client_killed,   link_cut,         link_stalls,   link_slow,    link_refuses,
        reply_lost,     command_lost,    messages_lost,    commands_held, server_stops, server_killed,
        clients_paused, scripts_flushed, connections_shut, memory_full,   mode_changes};
    return all;
}

std::span<const trouble> troubles_of_joint_by_ensemble() {
    using enum trouble;
    static const auto all = [] {
        std::vector<trouble> both(troubles_of_joint().begin(), troubles_of_joint().end());
        for (const auto t : {wire_cut, wire_stalls, wire_cut_soon, master_killed, master_stopped,
                             master_cut_off, follower_cut_off, client_cut_off, quorum_lost, all_stopped})
            both.push_back(t);
        return both;
    }();
    return all;
}

}  // namespace holdfast::chaos
