#include "api/access.hpp"
#include "observe/exposition.hpp"
#include "session/client_state.hpp"
#include "store/mode_switch.hpp"

#include <holdfast/metrics.hpp>
#include <holdfast/version.hpp>

#include <chrono>
#include <string>

namespace holdfast {

namespace {

using observe::exposition;
using observe::lock_counters;

double in_seconds(boot_clock::duration d) { return std::chrono::duration<double>(d).count(); }

void add_locks(exposition& to, const std::deque<lock_counters>& families) {
    to.counter("holdfast_acquisitions",
               "Acquisitions that ended, by outcome: not_acquired is busy for the whole wait.");
    for (const auto& f : families) {
        to.add({{"family", f.family}, {"outcome", "acquired"}}, f.acquired.get());
        to.add({{"family", f.family}, {"outcome", "not_acquired"}}, f.not_acquired.get());
        to.add({{"family", f.family}, {"outcome", "failed"}}, f.all_failed());
    }
    to.counter("holdfast_failures", "Acquisitions that failed, by reason.");
    for (const auto& f : families)
        for (std::size_t i = 0; i < f.failed.size(); ++i)
            if (i != static_cast<std::size_t>(errc::timed_out))  // that is not_acquired
                to.add({{"family", f.family}, {"reason", observe::name_of_failure(i)}}, f.failed[i].get());
    to.counter("holdfast_reentries", "Nested holds, which need no new lock.");
    for (const auto& f : families) to.add({{"family", f.family}}, f.reentered.get());
    to.counter("holdfast_grants",
               "Acquisitions that succeeded, by what the lock excludes (lease::strength).");
    for (const auto& f : families)
        for (const auto s : observe::strengths)
            to.add({{"family", f.family}, {"strength", to_string(s)}},
                   f.grants[static_cast<std::size_t>(s)].get());
    to.counter("holdfast_lost", "Leases that ended before they were released, by reason.");
    for (const auto& f : families)
        for (const auto why : observe::losses)
            to.add({{"family", f.family}, {"reason", to_string(why)}},
                   f.lost[static_cast<std::size_t>(why)].get());
    to.counter("holdfast_releases",
               "Releases, by outcome: unknown had no answer; the store frees the lock by itself.");
    for (const auto& f : families) {
        to.add({{"family", f.family}, {"outcome", "released"}}, f.released.get());
        to.add({{"family", f.family}, {"outcome", "unknown"}}, f.release_unknown.get());
    }
    to.histogram("holdfast_wait_seconds", "Time from the call to the grant.");
    for (const auto& f : families) to.add({{"family", f.family}}, f.wait.get());
    to.histogram("holdfast_hold_seconds", "Time from the grant to the release.");
    for (const auto& f : families) to.add({{"family", f.family}}, f.hold.get());
    to.histogram("holdfast_lease_used_ratio",
                 "Share of the lease that had passed at a renewal or a release: 1 is too late.");
    for (const auto& f : families) {
        to.add({{"family", f.family}, {"at", "renewal"}}, f.used_at_renewal);
        to.add({{"family", f.family}, {"at", "release"}}, f.used_at_release);
    }
    to.gauge("holdfast_held", "Leases that are held.");
    for (const auto& f : families) to.add({{"family", f.family}}, f.held.get());
}

void add_present(exposition& to, session::client_state& of) {
    auto now = of.look_at_locks();
    to.gauge("holdfast_waiting", "Acquisitions under way.");
    for (const auto& f : of.counts.families()) to.add({{"family", f.family}}, now[&f].waiting);
    to.gauge("holdfast_oldest_wait_seconds", "How long the acquisition that waits longest has waited.");
    for (const auto& f : of.counts.families())
        to.add({{"family", f.family}}, in_seconds(now[&f].oldest_wait));
    to.gauge("holdfast_longest_hold_seconds", "How long the lease that is held longest has been held.");
    for (const auto& f : of.counts.families())
        to.add({{"family", f.family}}, in_seconds(now[&f].longest_hold));
}

void add_client(exposition& to, session::client_state& of) {
    const auto& counts = of.counts;
    to.counter("holdfast_attempts", "Requests to acquire, by the store's answer.");
    to.add({{"answer", "granted"}}, counts.granted.get());
    to.add({{"answer", "busy"}}, counts.busy.get());
    to.add({{"answer", "refused"}}, counts.refused.get());
    to.add({{"answer", "unknown"}}, counts.unknown.get());
    to.counter("holdfast_renewals", "Renewals, by result.");
    to.add({{"result", "renewed"}}, counts.renewals.get());
    to.add({{"result", "failed"}}, counts.renewals_failed.get());
    to.counter("holdfast_events", "Events by kind, except acquisitions and releases.");
    for (std::size_t i = 0; i < counts.events.size(); ++i) {
        const auto kind = static_cast<event_kind>(i);
        if (kind == event_kind::acquired || kind == event_kind::released || to_string(kind) == "unknown")
            continue;
        to.add({{"kind", to_string(kind)}}, counts.events[i].get());
    }
    to.counter("holdfast_events_dropped", "Events that a slow listener did not receive.");
    to.add({}, counts.events_dropped.get());
    if (!of.has_store()) return;
    const auto traffic = of.store().statistics();
    to.counter("holdfast_commands", "Requests that were sent to the store.");
    to.add({}, traffic.requests);
    to.gauge("holdfast_store_round_trip_seconds", "A recent average of the store's round trips.");
    to.add({}, in_seconds(traffic.round_trip));
    if (const auto up = of.store_is_up()) {
        to.gauge("holdfast_store_up", "1 if the store answers.");
        to.add({}, std::uint64_t{*up ? 1U : 0U});
    }
}

// What a configuration centre or an arbiter decides, and what this client knows of it.
void add_fallback(exposition& to, session::client_state& of) {
    if (!of.settings.policies.empty()) {
        to.gauge("holdfast_breaker_open", "1 if locks with a policy ask their store only now and then.");
        to.add({}, std::uint64_t{of.is_so(event_kind::breaker_open) ? 1U : 0U});
    }
    auto* const modes = of.has_store() ? of.store().as_mode_switch() : nullptr;
    const auto known = modes != nullptr ? modes->known() : backend::known_mode{};
    const auto source = of.source_is_up();
    if (modes != nullptr || source) {
        to.gauge("holdfast_source_up", "1 if the switch, or the arbiter, can be read.");
        if (source) to.add({{"source", "switch"}}, std::uint64_t{*source ? 1U : 0U});
        if (modes != nullptr) to.add({{"source", "arbiter"}}, std::uint64_t{known.arbiter_is_up ? 1U : 0U});
    }
    if (modes == nullptr) return;
    to.gauge("holdfast_mode_needs", "1 if locks of the group need this level now.");
    for (std::size_t i = 0; i < known.needed.size(); ++i)
        to.add({{"group", known.group}, {"level", std::to_string(i + 1)}},
               std::uint64_t{known.needed[i] ? 1U : 0U});
    if (known.epoch == 0) return;
    to.gauge("holdfast_mode_epoch", "Counts the changes of the group's mode.");
    to.add({{"group", known.group}}, known.epoch);
    to.gauge("holdfast_mode_lease_seconds", "How long this client may use the mode without asking again.");
    to.add({{"group", known.group}}, in_seconds(known.left));
}

}  // namespace

std::string metrics_text(client& of, metrics_format as) {
    auto& state = *detail::access::state_of(of);
    exposition to{as};
    add_locks(to, state.counts.families());
    add_present(to, state);
    {
        const session::client_state::call here(state);  // so that the store stays
        add_client(to, state);
        add_fallback(to, state);
    }
    to.info(as == metrics_format::open_metrics ? "holdfast_build" : "holdfast_build_info", "The library.");
    const auto version = std::to_string(HOLDFAST_VERSION_MAJOR) + '.' +
                         std::to_string(HOLDFAST_VERSION_MINOR) + '.' +
                         std::to_string(HOLDFAST_VERSION_PATCH);
    to.add({{"version", version}}, std::uint64_t{1});
    return std::move(to).take();
}

std::string_view content_type(metrics_format of) noexcept {
    return of == metrics_format::open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                              : "text/plain; version=0.0.4; charset=utf-8";
}

}  // namespace holdfast
