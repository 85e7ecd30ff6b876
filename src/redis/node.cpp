#include "redis/node.hpp"

#include "redis/command.hpp"
#include "redis/link.hpp"

#include <atomic>
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

request evalsha(const script_ref& script, std::span<const std::string_view> keys,
                std::span<const std::string_view> args, time_point deadline, reply_handler done) {
    request r{{}, deadline, std::move(done)};
    append_evalsha(r.bytes, script.sha1, keys, args);
    r.script = script.text;
    return r;
}

}  // namespace

node::node(const node_config& config, io::reactor& reactor, std::function<void(const node_event&)> on_event)
    : subscriber_(std::make_unique<subscriber>(config, reactor)) {
    link_ = std::make_shared<link>(
        config, reactor,
        [on_event = std::move(on_event), last_run = std::string{}](const link_event& e) mutable {
            node_event told{};
            switch (e.kind) {
                case link_event::what::up:
                    told.kind = node_event::what::up;
                    told.server = e.server;
                    told.restarted =
                        !last_run.empty() && !e.server.run_id.empty() && e.server.run_id != last_run;
                    if (!e.server.run_id.empty()) last_run = e.server.run_id;
                    break;
                case link_event::what::down: told.kind = node_event::what::down; break;
                case link_event::what::refused: told.kind = node_event::what::refused; break;
            }
            told.why = e.why;
            if (on_event) on_event(told);
        });
    link_->start();
}

node::~node() {
    if (link_) link_->close();
}

void node::command(std::span<const std::string_view> args, time_point deadline, reply_handler done) {
    request r{{}, deadline, std::move(done)};
    append_command(r.bytes, args);
    link_->submit(std::move(r));
}

void node::eval(const script_ref& script, std::span<const std::string_view> keys,
                std::span<const std::string_view> args, time_point deadline, reply_handler done) {
    link_->submit(evalsha(script, keys, args, deadline, std::move(done)));
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
    link_->submit(requests);
}

std::unique_ptr<subscription> node::subscribe(std::string channel, sub_handler handler) {
    return subscriber_->subscribe(std::move(channel), std::move(handler));
}

void node::drive(backend::parker& me, time_point until) { link_->drive(me, until); }

server_info node::info() const { return link_->info(); }

std::uint64_t node::commands_sent() const noexcept { return link_->commands_sent(); }

std::chrono::nanoseconds node::smoothed_rtt() const noexcept { return link_->smoothed_rtt(); }

void node::abandon() noexcept {
    link_->abandon();
    subscriber_->abandon();
    // Their mutexes may be held for ever and their handlers belong to the parent: leaked on purpose.
    [[maybe_unused]] auto* leaked = new std::shared_ptr<link>(std::move(link_));
    [[maybe_unused]] auto* leaked_too = subscriber_.release();
}

}  // namespace holdfast::redis
