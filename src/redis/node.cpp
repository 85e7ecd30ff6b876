#include "redis/node.hpp"

#include "redis/command.hpp"
#include "redis/link.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

namespace holdfast::redis {

namespace {

// Puts the outcomes of several scripts together; the last to come calls the handler.
struct gathered {
    std::vector<outcome> outcomes;
    std::atomic<std::size_t> missing;
    std::function<void(std::vector<outcome>)> done;

    gathered(std::size_t n, std::function<void(std::vector<outcome>)> d)
        : outcomes(n), missing(n), done(std::move(d)) {}

    void take(std::size_t at, outcome o) {
        outcomes[at] = std::move(o);
        if (missing.fetch_sub(1, std::memory_order_acq_rel) == 1) done(std::move(outcomes));
    }
};

std::string_view first(std::span<const std::string_view> keys) {
    return keys.empty() ? std::string_view{} : keys.front();
}

request evalsha(const script_ref& script, std::span<const std::string_view> keys,
                std::span<const std::string_view> args, time_point deadline, reply_handler done) {
    request r{{}, deadline, std::move(done)};
    append_evalsha(r.bytes, script.sha1, keys, args);
    r.script = script.text;
    return r;
}

}  // namespace

// What the connections tell, as if there were one. Reactor thread only.
class node::gathered_events {
  public:
    gathered_events(std::size_t links, std::function<void(const node_event&)> tell)
        : up_(links, false), tell_(std::move(tell)) {}

    void on(std::size_t link, const link_event& e) {
        using what = node_event::what;
        up_[link] = e.kind == link_event::what::up;
        if (!up_[link]) return tell(e.kind == link_event::what::refused ? what::refused : what::down, e);
        if (const auto& run = e.server.run_id; !run.empty()) {
            restarted_ = restarted_ || (!last_run_.empty() && run != last_run_);
            last_run_ = run;
        }
        if (std::find(up_.begin(), up_.end(), false) != up_.end()) return;
        tell(what::up, e);
        restarted_ = false;
    }

  private:
    void tell(node_event::what kind, const link_event& e) {
        if (std::exchange(told_, kind) == kind || !tell_) return;
        tell_({kind, e.server, kind == node_event::what::up && restarted_, e.why});
    }

    std::vector<bool> up_;
    const std::function<void(const node_event&)> tell_;
    std::optional<node_event::what> told_;
    std::string last_run_;
    bool restarted_ = false;
};

node::node(const node_config& config, io::reactor& reactor, std::function<void(const node_event&)> on_event)
    : subscriber_(std::make_unique<subscriber>(config, reactor)) {
    const auto events = std::make_shared<gathered_events>(config.connections, std::move(on_event));
    for (std::size_t i = 0; i < config.connections; ++i)
        links_.push_back(
            std::make_shared<link>(config, reactor, [events, i](const link_event& e) { events->on(i, e); }));
    for (const auto& l : links_) l->start();
}

node::~node() {
    for (const auto& l : links_) l->close();
}

// Always the same for a lock: an undo that is sent behind an attempt must be executed behind it.
link& node::link_of(std::string_view key) const noexcept {
    if (links_.size() == 1) return *links_.front();
    // FNV-1a: numbered names, as those of locks often are, are spread evenly.
    std::uint32_t hash = 2166136261U;
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return *links_[hash % links_.size()];
}

void node::command(std::span<const std::string_view> args, time_point deadline, reply_handler done) {
    request r{{}, deadline, std::move(done)};
    append_command(r.bytes, args);
    link_of(args.size() > 1 ? args[1] : std::string_view{}).submit(std::move(r));
}

void node::eval(const script_ref& script, std::span<const std::string_view> keys,
                std::span<const std::string_view> args, time_point deadline, reply_handler done) {
    link_of(first(keys)).submit(evalsha(script, keys, args, deadline, std::move(done)));
}

void node::evals(std::span<const eval_call> calls, time_point deadline,
                 std::function<void(std::vector<outcome>)> done) {
    if (calls.empty()) {
        done({});
        return;
    }
    const auto all = std::make_shared<gathered>(calls.size(), std::move(done));
    std::vector<request> requests;
    requests.reserve(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i)
        requests.push_back(evalsha(calls[i].script, calls[i].keys, calls[i].args, deadline,
                                   [all, i](outcome&& o) { all->take(i, std::move(o)); }));
    link_of(first(calls[0].keys)).submit(requests);
}

std::unique_ptr<subscription> node::subscribe(std::string channel, sub_handler handler) {
    return subscriber_->subscribe(std::move(channel), std::move(handler));
}

void node::drive(backend::parker& me, time_point until) {
    const auto mine =
        std::find_if(links_.begin(), links_.end(), [](const auto& l) { return l->sent_on_last(); });
    (mine == links_.end() ? links_.front() : *mine)->drive(me, until);
}

server_info node::info() const { return links_.front()->info(); }

std::uint64_t node::commands_sent() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& l : links_) sum += l->commands_sent();
    return sum;
}

// The longest: those that have sent nothing yet know none.
std::chrono::nanoseconds node::smoothed_rtt() const noexcept {
    std::chrono::nanoseconds longest{0};
    for (const auto& l : links_) longest = std::max(longest, l->smoothed_rtt());
    return longest;
}

void node::abandon() noexcept {
    for (const auto& l : links_) l->abandon();
    subscriber_->abandon();
    // Their mutexes may be held for ever and their handlers belong to the parent: leaked on purpose.
    [[maybe_unused]] auto* leaked = new auto(std::move(links_));
    [[maybe_unused]] auto* leaked_too = subscriber_.release();
}

}  // namespace holdfast::redis
