#include "cli/run/run_report.hpp"

#include "base/text.hpp"
#include "cli/output/error_output.hpp"
#include "cli/output/format.hpp"

#include <holdfast/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>

namespace holdfast::cli {

namespace {

// `the lock "a" was`, `the locks "a" and "b" were`.
std::string the_locks(const std::vector<std::string>& names, std::string_view verb_of_one,
                      std::string_view verb_of_several) {
    const bool one = names.size() == 1;
    return fmt::format("the {} {} {}", one ? "lock" : "locks", in_quotes(names),
                       one ? verb_of_one : verb_of_several);
}

// A failover or a restart ends by itself; a full memory rarely does.
bool passes_by_itself(const std::error_code& why) {
    return why == condition::try_later && why != errc::out_of_memory;
}

std::string processes(int count) { return count == 1 ? "1 process" : fmt::format("{} processes", count); }

}  // namespace

std::string in_quotes(const std::string& name) { return fmt::format("\"{}\"", base::printable(name)); }

std::string in_quotes(const std::vector<std::string>& names) {
    std::string all;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto* const before = i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
        all.append(before).append(in_quotes(names[i]));
    }
    return all;
}

void run_report::acquired(const std::deque<held_lock>& locks, strength of_store) {
    for (const auto& one : locks) {
        nlohmann::ordered_json fields{{"name", json_text(one.name)},
                                      {"owner", json_text(one.hold.owner().str())}};
        if (one.hold.fence() != fence::none) fields["fence"] = to_number(one.hold.fence());
        fields["strength"] = to_string(one.hold.strength());
        fields["waited_ms"] = one.waited.count();
        log_.write_event("acquired", fields);
        log_.mention(fmt::format("acquired {} after {}", in_quotes(one.name), rough(one.waited)));
        if (one.hold.strength() < of_store)
            log_.say(fmt::format("the lock {} was granted without the store: it is only {}",
                                 in_quotes(one.name), to_string(one.hold.strength())));
    }
}

// Always says why a lock was lost: end_of_command() says only that it was. Also always reports, while there
// is still time, a failure that stops all renewals until somebody mends it. The rest is for --verbose.
void run_report::events(const std::vector<event>& seen) {
    for (const auto& e : seen) {
        const auto about_lock = [&] { return fmt::format("\"{}\": {}", e.lock, e.detail); };
        switch (e.kind) {
            case event_kind::lost:
                to_be_mended_.erase(e.lock);
                held_back_.erase(e.lock);
                log_.say(about_lock());
                break;
            case event_kind::jeopardy:
                held_back_.erase(e.lock);
                if (passes_by_itself(e.reason)) {
                    log_.mention(about_lock());
                    if (e.reason != errc::unavailable && !log_.verbose())
                        held_back_.emplace(e.lock, about_lock());
                } else {
                    to_be_mended_.insert(e.lock);
                    log_.say(about_lock());
                }
                break;
            case event_kind::renewed:
                held_back_.erase(e.lock);
                if (to_be_mended_.erase(e.lock) > 0)
                    log_.say(about_lock());
                else
                    log_.mention(about_lock());
                break;
            case event_kind::bad_document:
            case event_kind::source_down: log_.say(e.detail); break;
            case event_kind::switched:
            case event_kind::breaker_open:
            case event_kind::breaker_closed:
            case event_kind::clocks_apart:
            case event_kind::source_up: log_.mention(e.detail); break;
            case event_kind::restored:
            case event_kind::overlap: log_.say(about_lock()); break;
            case event_kind::store_down: was_down_ = true; [[fallthrough]];
            case event_kind::store_restarted:
            case event_kind::failed_over:
            case event_kind::eviction_risk:
            case event_kind::no_channel_right:
            case event_kind::quorum_weak:
            case event_kind::quorum_whole:
            case event_kind::quorum_double:
            case event_kind::quorum_even: log_.mention(e.lock.empty() ? e.detail : about_lock()); break;
            case event_kind::store_up:
                if (std::exchange(was_down_, false)) log_.mention("the store answers again");
                break;
            case event_kind::degraded:
            case event_kind::acquired:
            case event_kind::released:
            case event_kind::release_failed:
            case event_kind::holder_gone:
            case event_kind::events_dropped:
            case event_kind::slow_callback: break;  // reported elsewhere, or not about this command
        }
    }
}

std::string run_report::fate_of_command(why_ended why, const std::optional<child_ended>& end) const {
    const bool spared = wanted_.rules.policy == on_loss::ignore;
    if (!end)
        return spared ? "the command runs on without it (--on-loss ignore)" : "the command is being ended";
    if (why == why_ended::late) return "the command was ended";
    return end->by_signal != 0 ? "the command was ended by the signal " + signal_text(end->by_signal)
                               : fmt::format("the command ended with {}", end->status);
}

void run_report::lost_before_start(const std::string& name) {
    log_.say(fmt::format("the lock {} was lost before the command was started", in_quotes(name)));
}

// The failure may not have passed by itself: a URL may name a replica, or a disk may be full.
void run_report::say_held_back(const std::vector<std::string>& of) {
    for (const auto& name : of) {
        const auto it = held_back_.find(base::printable(name));
        if (it == held_back_.end()) continue;
        log_.say(it->second);
        held_back_.erase(it);
    }
}

void run_report::end_of_command(why_ended why, const std::vector<std::string>& of,
                                const std::optional<child_ended>& end) {
    const auto about_to_be_lost = the_locks(of, "cannot be renewed and is about to be lost",
                                            "cannot be renewed and are about to be lost");
    const std::string done = fate_of_command(why, end);
    switch (why) {
        case why_ended::not_yet:
            log_.write_event("lost", {{"why", "expiring"}});
            say_held_back(of);
            log_.say(about_to_be_lost);
            break;
        case why_ended::late:
            log_.write_event("lost", {{"why", "late"}});
            log_.say(fmt::format("{} not renewed in time, because this process was suspended or too slow; {}",
                                 the_locks(of, "was", "were"), done));
            break;
        case why_ended::lost:
            log_.write_event("lost", {{"why", "lost"}});
            log_.say(fmt::format("{} lost; {}", the_locks(of, "was", "were"), done));
            break;
        case why_ended::expiring:
            log_.write_event("lost", {{"why", "expiring"}});
            say_held_back(of);
            log_.say(fmt::format("{}; {}", about_to_be_lost, done));
            break;
        case why_ended::max_hold:
            log_.write_event("lost", {{"why", "max_hold"}});
            log_.say(fmt::format("the time of --max-hold for {} is over; {}", in_quotes(of), done));
            break;
    }
}

void run_report::release_unknown(const std::string& name, const release_result& how) {
    using std::chrono::milliseconds;
    const auto why = how.refusal ? full_message(*how.refusal)
                                 : fmt::format("the store did not answer the release of {}", in_quotes(name));
    const auto left = std::chrono::ceil<milliseconds>(how.until - boot_clock::now());
    log_.say(fmt::format("{}; it is free in {} at the latest", why, rough(std::max(left, milliseconds{0}))));
}

void run_report::waits_for(const cannot_end& those) {
    if (those.refused > 0) {
        log_.say(fmt::format("{} of another user cannot be ended; waiting for {}", processes(those.refused),
                             those.refused == 1 ? "it" : "them"));
    }
    if (those.killed > 0) {
        log_.say(fmt::format("{} {} killed but {} not ended yet; waiting for {}", processes(those.killed),
                             those.killed == 1 ? "was" : "were", those.killed == 1 ? "has" : "have",
                             those.killed == 1 ? "it" : "them"));
    }
}

void run_report::may_run_on(const nothing_left& how) {
    if (how.refused > 0) {
        log_.say(
            fmt::format("{} of another user that the command started cannot be ended and {} without the lock",
                        processes(how.refused), how.refused == 1 ? "runs on" : "run on"));
    }
    switch (how.seen) {
        case sight::whole: break;
        case sight::own:
            log_.say(
                "/proc hides processes of other users; one that the command started may run on without the "
                "lock");
            break;
        case sight::none:
            log_.say(
                "/proc cannot be read; a process that the command started and that left its process group "
                "may run on without the lock");
            break;
    }
}

void run_report::left_running(int left) {
    log_.say(fmt::format("{} that the command started {} still running, without the lock", processes(left),
                         left == 1 ? "is" : "are"));
}

}  // namespace holdfast::cli
