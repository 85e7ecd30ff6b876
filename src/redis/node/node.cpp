#include "redis/node/node.hpp"

#include "redis/connection/link.hpp"
#include "redis/protocol/command.hpp"
#include "redis/protocol/script.hpp"
#include "redis/sentinel/sentinels.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace holdfast::redis {

namespace {

std::string_view first(std::span<const std::string_view> keys) {
    return keys.empty() ? std::string_view{} : keys.front();
}

}  // namespace

// Merges the events of all connections into those of one. Reactor thread only.
class node::gathered_events {
  public:
    gathered_events(std::size_t links, std::function<void(const node_event&)> report)
        : up_(links, false), report_(std::move(report)) {}

    void on(std::size_t link, const link_event& e) {
        using what = node_event::what;
        up_[link] = e.kind == link_event::what::up;
        if (!up_[link]) return report(e.kind == link_event::what::refused ? what::refused : what::down, e);
        if (e.server.address != last_address_) {
            const auto former = std::exchange(last_address_, e.server.address);
            if (moved_from_.empty()) moved_from_ = former;
            if (moved_from_ == last_address_) moved_from_.clear();  // and back, before it was reported
            last_run_.clear();  // another server, not a restart of the former
            restarted_ = false;
        }
        if (const auto& run = e.server.run_id; !run.empty()) {
            restarted_ = restarted_ || (!last_run_.empty() && run != last_run_);
            last_run_ = run;
        }
        if (std::find(up_.begin(), up_.end(), false) != up_.end()) return;
        report(what::up, e);
        restarted_ = false;
        moved_from_.clear();
    }

  private:
    void report(node_event::what kind, const link_event& e) {
        if (std::exchange(last_reported_, kind) == kind || !report_) return;
        const bool up = kind == node_event::what::up;
        report_({kind, e.server, up && restarted_, up ? moved_from_ : std::string{}, e.why});
    }

    std::vector<bool> up_;
    const std::function<void(const node_event&)> report_;
    std::optional<node_event::what> last_reported_;
    std::string last_address_;
    std::string moved_from_;
    std::string last_run_;
    bool restarted_ = false;
};

node::node(const node_config& wanted, io::reactor& reactor, std::function<void(const node_event&)> on_event,
           redirector redirect)
    : config_(wanted), redirect_(std::move(redirect)), reactor_(reactor) {
    if (config_.sentinels) {
        config_.source = sentinels_ =
            sentinels::make(config_, reactor,
                            [&reactor](const node_config& c, std::function<void(const node_event&)> notify) {
                                return std::make_unique<node>(c, reactor, std::move(notify));
                            });
        config_.master_only = true;
    }
    subscriber_ = std::make_unique<subscriber>(config_, reactor);
    const auto events = std::make_shared<gathered_events>(config_.connections, std::move(on_event));
    for (std::size_t i = 0; i < config_.connections; ++i)
        links_.push_back(std::make_shared<link>(
            config_, reactor, [events, i](const link_event& e) { events->on(i, e); }, redirect_));
    for (const auto& l : links_) l->start();
}

node::~node() {
    close();
    subscriber_.reset();
    if (sentinels_) sentinels_->close();
}

void node::close() {
    for (const auto& l : links_) l->close();
    std::shared_ptr<link> waiting;
    {
        base::guard lock(mutex_);
        closed_ = true;
        waiting = for_acks_;
    }
    if (waiting) waiting->close();
}

// Always the same link for a lock: an undo must be executed after the attempt that it follows.
link& node::link_of(std::string_view key) const noexcept {
    if (links_.size() == 1) return *links_.front();
    // FNV-1a spreads numbered names evenly, and locks often have such names.
    std::uint32_t hash = 2166136261U;
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return *links_[hash % links_.size()];
}

void node::command(std::span<const std::string_view> args, time_point deadline, reply_handler done) {
    link_of(args.size() > 1 ? args[1] : std::string_view{})
        .submit(command_request(args, deadline, std::move(done)));
}

void node::eval(const script_ref& script, std::span<const std::string_view> keys,
                std::span<const std::string_view> args, time_point deadline, reply_handler done) {
    link_of(first(keys)).submit(script_request(script, keys, args, deadline, std::move(done)));
}

// Made when it is first needed. Reports no events: the requests on it report its failures.
link& node::link_for_acks() {
    base::guard lock(mutex_);
    if (closed_) return *links_.front();
    if (!for_acks_) {
        for_acks_ = std::make_shared<link>(
            config_, reactor_, [](const link_event&) {}, redirect_);
        for_acks_->start();
    }
    return *for_acks_;
}

void node::evals(std::span<const eval_call> calls, time_point deadline,
                 std::function<void(std::vector<outcome>)> done) {
    if (calls.empty()) {
        done({});
        return;
    }
    const auto all = std::make_shared<gathered_outcomes>(calls.size(), std::move(done));
    std::map<link*, std::vector<request>> of;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto& call = calls[i];
        auto r = script_request(
            call.script, call.keys, call.args, deadline,
            [all, i](outcome&& o) { all->take(i, std::move(o)); }, call.replicas);
        of[r.waits ? &link_for_acks() : &link_of(first(call.keys))].push_back(std::move(r));
    }
    for (auto& [l, requests] : of) l->submit(requests);
}

void node::submit(std::vector<request> all) {
    std::map<link*, std::vector<request>> of;
    for (auto& r : all) of[&link_for(r)].push_back(std::move(r));
    for (auto& [l, requests] : of) l->submit(requests);
}

void node::submit(request r) {
    auto& to = link_for(r);
    to.submit(std::move(r));
}

link& node::link_for(const request& r) { return r.waits ? link_for_acks() : *links_[r.slot % links_.size()]; }

void node::command_everywhere(std::span<const std::string_view> args, time_point deadline,
                              std::function<void(std::vector<server_outcome>)> done) {
    command(args, deadline, [done = std::move(done)](outcome&& o) {
        std::vector<server_outcome> one;
        one.push_back({{}, std::move(o)});
        done(std::move(one));
    });
}

void node::command_at(const std::string&, std::span<const std::string_view> args, time_point deadline,
                      reply_handler done) {
    command(args, deadline, std::move(done));
}

bool node::sent_on_last() const noexcept {
    return std::any_of(links_.begin(), links_.end(), [](const auto& l) { return l->sent_on_last(); });
}

std::unique_ptr<subscription> node::subscribe(std::string channel, sub_handler handler, pubsub how) {
    return subscriber_->subscribe(std::move(channel), std::move(handler), how);
}

void node::run_io(base::parker& me, time_point until) {
    const auto mine =
        std::find_if(links_.begin(), links_.end(), [](const auto& l) { return l->sent_on_last(); });
    (mine == links_.end() ? links_.front() : *mine)->run_io(me, until);
}

io::pollable& node::connection() noexcept { return *links_.front(); }

server_info node::info() const { return links_.front()->info(); }

std::uint64_t node::commands_sent() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& l : links_) sum += l->commands_sent();
    return sum;
}

// The longest: links that have sent nothing yet report zero.
std::chrono::nanoseconds node::smoothed_rtt() const noexcept {
    std::chrono::nanoseconds longest{0};
    for (const auto& l : links_) longest = std::max(longest, l->smoothed_rtt());
    return longest;
}

void node::abandon() noexcept {
    for (const auto& l : links_) l->abandon();
    subscriber_->abandon();
    // mutex_ may be held for ever, so it is not locked; only the descriptor is closed.
    [&]() NO_THREAD_SAFETY_ANALYSIS {
        if (for_acks_) for_acks_->abandon();
    }();
    if (sentinels_) sentinels_->abandon();
    // Their mutexes may be held for ever and their handlers belong to the parent: leaked on purpose.
    [[maybe_unused]] auto* leaked = new auto(std::move(links_));
    [[maybe_unused]] auto* leaked_too = subscriber_.release();
    [[maybe_unused]] auto* leaked_as_well = new auto(std::move(sentinels_));
}

}  // namespace holdfast::redis
