#include "redis/cluster/cluster.hpp"

#include "base/parker.hpp"
#include "redis/cluster/cluster_core.hpp"

#include <holdfast/error.hpp>

#include <utility>

namespace holdfast::redis {

namespace {

std::string_view key_of(std::span<const std::string_view> words, std::size_t at) {
    return words.size() > at ? words[at] : std::string_view{};
}

}  // namespace

cluster::cluster(cluster_config config, io::reactor& reactor, std::function<void(const node_event&)> on_event)
    : core_(std::make_shared<cluster_core>(std::move(config), reactor, std::move(on_event))) {
    core_->start();
}

cluster::~cluster() {
    if (core_) core_->close();
}

void cluster::command(std::span<const std::string_view> args, time_point deadline, reply_handler done) {
    auto r = command_request(args, deadline, std::move(done));
    r.slot = slot_of(key_of(args, 1));
    core_->submit_one(std::move(r));
}

void cluster::eval(const script_ref& script, std::span<const std::string_view> keys,
                   std::span<const std::string_view> args, time_point deadline, reply_handler done) {
    auto r = script_request(script, keys, args, deadline, std::move(done));
    r.slot = slot_of(key_of(keys, 0));
    core_->submit_one(std::move(r));
}

void cluster::evals(std::span<const eval_call> calls, time_point deadline,
                    std::function<void(std::vector<outcome>)> done) {
    if (calls.empty()) return done({});
    const auto all = std::make_shared<gathered_outcomes>(calls.size(), std::move(done));
    std::vector<request> requests;
    requests.reserve(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
        requests.push_back(script_request(
            calls[i].script, calls[i].keys, calls[i].args, deadline,
            [all, i](outcome&& o) { all->take(i, std::move(o)); }, calls[i].replicas));
        requests.back().slot = slot_of(key_of(calls[i].keys, 0));
    }
    core_->submit(std::move(requests));
}

std::unique_ptr<subscription> cluster::subscribe(std::string channel, sub_handler handler, pubsub how) {
    return core_->subscribe(std::move(channel), std::move(handler), how);
}

std::uint16_t cluster::slot_of(std::string_view key) const noexcept { return redis::slot_of(key); }

std::string cluster::server_of(std::string_view key) const { return core_->address_of(slot_of(key)); }

pubsub cluster::channels() const noexcept { return core_->channels(); }

void cluster::command_everywhere(std::span<const std::string_view> args, time_point deadline,
                                 std::function<void(std::vector<server_outcome>)> done) {
    const std::vector<std::string> words(args.begin(), args.end());
    core_->when_known(deadline, [core = core_, words, deadline, done = std::move(done)](const not_sent* no) {
        auto servers = no != nullptr ? std::vector<std::string>{} : core->masters();
        if (servers.empty()) {
            std::vector<database::server_outcome> none;
            none.push_back(
                {{}, no != nullptr ? *no : not_sent{{errc::unavailable, "the cluster has no master"}}});
            return done(std::move(none));
        }
        const std::vector<std::string_view> views(words.begin(), words.end());
        const auto all = std::make_shared<gathered_outcomes>(
            servers.size(), [servers, done](std::vector<outcome> outcomes) {
                std::vector<database::server_outcome> named;
                for (std::size_t i = 0; i < servers.size(); ++i)
                    named.push_back({servers[i], std::move(outcomes[i])});
                done(std::move(named));
            });
        const will_not_run_io here;
        for (std::size_t i = 0; i < servers.size(); ++i)
            core->submit_at(servers[i], command_request(views, deadline, [all, i](outcome&& o) {
                                all->take(i, std::move(o));
                            }));
    });
}

void cluster::command_at(const std::string& server, std::span<const std::string_view> args,
                         time_point deadline, reply_handler done) {
    core_->submit_at(server, command_request(args, deadline, std::move(done)));
}

void cluster::run_io(base::parker& me, time_point until) {
    if (const auto here = core_->last_used_here()) return here->run_io(me, until);
    me.park_until(until);
}

std::uint64_t cluster::commands_sent() const noexcept { return core_->commands_sent(); }

std::chrono::nanoseconds cluster::smoothed_rtt() const noexcept { return core_->smoothed_rtt(); }

void cluster::abandon() noexcept {
    core_->abandon();
    // Its mutex may be held for ever and its handlers belong to the parent: leaked on purpose.
    [[maybe_unused]] auto* leaked = new std::shared_ptr<cluster_core>(std::move(core_));
}

}  // namespace holdfast::redis
