#include "backends/redlock/members.hpp"

#include "base/text.hpp"

#include <future>
#include <utility>

namespace holdfast::redlock_backend {

namespace {

using namespace backend;

config config_of_member(const config& all, const std::string& url) {
    auto own = all;
    own.url = url;
    own.redis.connections = 1;  // a thread polls one connection of each member
    return own;
}

}  // namespace

members::members(const backends::services& given, redlock_config c)
    : wanted(std::move(c)),
      settings(given.settings),
      clock_margin{given.settings.drift, given.settings.margin},
      reactor(given.reactor),
      id_(given.id),
      notify_(given.notify),
      key_(wanted.name.empty() ? "holdfast:redlock" : "holdfast:redlock:" + wanted.name),
      key_text_(key_text_of(wanted)) {
    for (const auto& m : wanted.members) {
        members_.push_back(
            std::make_unique<member>(engine::quarantine_settings{wanted.longest_lease, wanted.quarantine},
                                     config_of_member(settings, m.url)));
    }
}

void members::open(member_opener opener) {
    try {
        // A member may connect before the last one is opened; its notice waits for the mutex.
        base::guard lock(mutex_);
        for (std::size_t i = 0; i < size(); ++i) {
            auto& m = *members_[i];
            m.store = opener({reactor, m.settings, id_, [weak = weak_from_this(), i](const notice& n) {
                                  if (const auto self = weak.lock(); self && !self->closed())
                                      self->on_notice(i, n);
                              }});
            if (!m.store->as_counters() || !m.store->as_inspection() || !m.store->as_redlock_member())
                throw error(errc::invalid_argument, address(i) + " cannot be a member of a redlock");
            // A store without one connection that a thread can poll is read by the reactor.
            if (auto* one = dynamic_cast<io::pollable_store*>(m.store.get()))
                connections_.push_back(&one->connection());
        }
    } catch (...) {
        close();
        throw;
    }
    if (size() % 2 == 0) {
        reactor.post([weak = weak_from_this()] {
            const auto self = weak.lock();
            if (!self || self->closed()) return;
            self->notify_({notice::change::quorum_even,
                           std::to_string(self->size()) + " members bear no more failures than " +
                               std::to_string(self->size() - 1) + ", and one more of them can fail",
                           {}});
        });
    }
}

void members::close() {
    if (closed_.exchange(true)) return;
    // Callbacks that start now see closed_; this waits for the one that runs.
    const auto passed = std::make_shared<std::promise<void>>();
    reactor.post([passed] { passed->set_value(); });
    passed->get_future().wait();
    // Each store answers its open requests; those handlers use the members and no other store.
    for (const auto& m : members_) m->store.reset();
}

void members::abandon() noexcept {
    closed_ = true;
    for (const auto& m : members_) m->store->abandon();
}

void members::later(milliseconds pause, void (members::*what)()) {
    reactor.at(boot_clock::now() + pause, [weak = weak_from_this(), what] {
        if (const auto self = weak.lock(); self && !self->closed()) (self.get()->*what)();
    });
}

void members::on_notice(std::size_t i, const notice& n) {
    using change = notice::change;
    const auto now = boot_clock::now();
    const auto of_member = [&] { return base::printable(address(i)) + ": " + n.detail; };
    switch (n.what) {
        case change::link_up: {
            {
                base::guard lock(mutex_);
                auto& m = *members_[i];
                m.known = m.up = true;
                m.replica = n.replica;
                m.quarantine.on_connected(n.run_id, n.uptime, now, n.promotion);
                m.key = key_state::unasked;
                ++m.epoch;
                wrong_ = misuse();
            }
            agree();
            return review();
        }
        case change::link_down: {
            {
                base::guard lock(mutex_);
                auto& m = *members_[i];
                m.known = true;
                m.up = false;
                m.why_down = n.detail;
                m.error_to_fix = n.reason;
                m.key = key_state::unasked;
                ++m.epoch;
                wrong_ = misuse();
            }
            agree();
            return review();
        }
        case change::restarted:
        case change::failed_over:
        case change::eviction_risk: return notify_({.what = n.what, .detail = of_member()});
        case change::evicted: return notify_(n);  // the lock on all members
        case change::no_channel_right:            // nobody listens
        case change::session_lost:                // members have none
        case change::bounds_moved:                // nor bounds
        case change::switched:                    // nor a mode
        case change::source_down:
        case change::source_up:
        case change::restored:  // nor policies
        case change::overlap:
        case change::quorum_weak:
        case change::quorum_whole:
        case change::quorum_double:
        case change::quorum_even:
        case change::clocks_apart: return;
    }
}

std::size_t members::first_of_server(std::size_t i) const {
    const auto& m = *members_[i];
    if (!m.up || m.quarantine.run_id().empty()) return i;
    std::size_t j = 0;
    while (j < i && !(members_[j]->up && members_[j]->quarantine.run_id() == m.quarantine.run_id())) ++j;
    return j;
}

std::size_t members::first_with_same_server(std::size_t i) {
    base::guard lock(mutex_);
    return first_of_server(i);
}

std::string members::server_of(std::size_t i) {
    base::guard lock(mutex_);
    const auto& run = members_[i]->quarantine.run_id();
    return run.empty() ? std::to_string(i) : run;
}

}  // namespace holdfast::redlock_backend
