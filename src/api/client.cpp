#include <holdfast/client.hpp>

#include "api/metrics_listener.hpp"
#include "api/policies.hpp"
#include "backends/registry.hpp"
#include "base/text.hpp"
#include "session/client_state.hpp"

#include <errno.h>

namespace holdfast {

namespace {

using std::chrono::milliseconds;

[[noreturn]] void refuse(std::string_view field, const std::string& why) {
    throw error(errc::invalid_argument, "config::" + std::string{field} + " " + why);
}

void check_between(std::string_view field, milliseconds value, milliseconds least, milliseconds most) {
    if (value >= least && value <= most) return;
    refuse(field, "must lie between " + base::to_text(least) + " and " + base::to_text(most) + ", and " +
                      base::to_text(value) + " was given");
}

void check_share(std::string_view field, double value, double least, double most) {
    if (value >= least && value <= most) return;  // not for NaN
    refuse(field, "must lie between " + std::to_string(least) + " and " + std::to_string(most));
}

config checked(config c) {
    using namespace std::chrono_literals;
    check_between("lease", c.lease, 10ms, 24h);
    check_share("renew_after", c.renew_after, 0.05, 0.8);
    check_between("poll_gap", c.poll_gap, 20ms, 1min);
    check_between("redis.silent_poll", c.redis.silent_poll, 1ms, 1min);
    check_share("drift", c.drift, 0, 0.5);
    check_between("margin", c.margin, 0ms, 1min);
    check_between("patience", c.patience, 0ms, 24h);
    if (c.local_turns < 1 || c.local_turns > 16) refuse("local_turns", "must lie between 1 and 16");
    check_between("redis.fair_liveness", c.redis.fair_liveness, 100ms, 5min);
    if (c.redis.connections < 1 || c.redis.connections > 64)
        refuse("redis.connections", "must lie between 1 and 64");
    check_between("answer_timeout", c.answer_timeout, 10ms, 1min);
    check_between("close_timeout", c.close_timeout, 0ms, 1min);
    check_between("slow_callback", c.slow_callback, 1ms, 1h);
    detail::check(c.policies);
    detail::check(c.families);
    detail::check_switch(c);
    if (c.program.empty()) c.program = program_invocation_short_name;
    return c;
}

config with_url(std::string_view url) {
    config c;
    c.url = url;
    return c;
}

}  // namespace

client::client(std::string_view url) : client(with_url(url)) {}

client::client(config settings)
    : state_(session::client_state::open(
          checked(std::move(settings)),
          [](session::client_state& c) {
              return backends::open(
                  {c.reactor(), c.settings, base::client_id::make(),
                   [&c](const backend::notice& n) { c.on_notice(n); },
                   [&c](backend::store& in, const backend::lock_key& key, const owner_id& owner,
                        std::chrono::milliseconds lease) { c.undo(in, key, owner, lease, true); }});
          },
          detail::open_policies)) {
    if (!state_->settings.metrics_listen.empty()) metrics_ = detail::serve_metrics(*this);
}

client::~client() {
    if (state_->forked() && metrics_) new std::shared_ptr(std::move(metrics_));  // its thread is not here
    metrics_.reset();
    state_->close();
}

event_subscription client::on_event(std::function<void(const event&)> listener) {
    state_->check_usable();
    return state_->listen(std::move(listener));
}

client_stats client::stats() const { return state_->counts.snapshot(state_->store().statistics().requests); }

const config& client::settings() const noexcept { return state_->settings; }

strength client::strength() const noexcept { return state_->strength(); }

}  // namespace holdfast
