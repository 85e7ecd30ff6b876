#include <holdfast/event.hpp>

#include <cmath>

namespace holdfast {

std::string_view to_string(event_kind k) noexcept {
    switch (k) {
        case event_kind::acquired: return "acquired";
        case event_kind::released: return "released";
        case event_kind::renewed: return "renewed";
        case event_kind::jeopardy: return "jeopardy";
        case event_kind::lost: return "lost";
        case event_kind::release_failed: return "release_failed";
        case event_kind::holder_gone: return "holder_gone";
        case event_kind::slow_callback: return "slow_callback";
        case event_kind::events_dropped: return "events_dropped";
        case event_kind::store_up: return "store_up";
        case event_kind::store_down: return "store_down";
        case event_kind::store_restarted: return "store_restarted";
        case event_kind::failed_over: return "failed_over";
        case event_kind::eviction_risk: return "eviction_risk";
        case event_kind::no_channel_right: return "no_channel_right";
        case event_kind::quorum_weak: return "quorum_weak";
        case event_kind::quorum_whole: return "quorum_whole";
        case event_kind::quorum_double: return "quorum_double";
        case event_kind::quorum_even: return "quorum_even";
        case event_kind::degraded: return "degraded";
        case event_kind::restored: return "restored";
        case event_kind::overlap: return "overlap";
        case event_kind::switched: return "switched";
        case event_kind::bad_document: return "bad_document";
        case event_kind::source_down: return "source_down";
        case event_kind::source_up: return "source_up";
        case event_kind::breaker_open: return "breaker_open";
        case event_kind::breaker_closed: return "breaker_closed";
        case event_kind::clocks_apart: return "clocks_apart";
    }
    return "unknown";
}

std::chrono::microseconds histogram::quantile(double p) const noexcept {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(p * static_cast<double>(count)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        seen += buckets[i];
        if (seen >= wanted && seen > 0) return std::chrono::microseconds{std::int64_t{1} << i};
    }
    return std::chrono::microseconds{0};
}

double client_stats::failure_rate() const noexcept {
    const auto ended = acquired + not_acquired + failed;
    return ended == 0 ? 0 : static_cast<double>(not_acquired + failed) / static_cast<double>(ended);
}

}  // namespace holdfast
