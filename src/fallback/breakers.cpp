#include "fallback/breakers.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <variant>

namespace holdfast::fallback {

using namespace backend;

namespace {

std::string in_words(const attempt_answer& outage) {
    if (const auto* const none = std::get_if<unknown>(&outage)) return none->in_one();
    if (const auto* const no = std::get_if<refused>(&outage)) return no->in_one();
    return "the server is out of memory";
}

}  // namespace

bool is_outage(const attempt_answer& answer) {
    if (const auto* const held = std::get_if<busy>(&answer)) return held->no_memory;
    if (const auto* const none = std::get_if<unknown>(&answer)) return none->code != condition::misuse;
    const auto* const no = std::get_if<refused>(&answer);
    if (no == nullptr || no->contention) return false;
    return no->code == errc::unavailable || no->code == errc::busy_server ||
           (no->code == errc::out_of_memory && !no->server_text.empty());
}

bool breakers::permits(const std::string& server, time_point now) {
    if (const auto forced = wished_->breaker(); forced != forced_breaker::no)
        return forced == forced_breaker::closed;
    const base::guard lock(mutex_);
    return all_[server].permits(now);
}

void breakers::report(const std::string& server, const attempt_answer& got, time_point now) {
    const base::guard lock(mutex_);
    auto& one = all_[server];
    const bool was_closed = one.now() == breaker::state::closed;
    if (is_outage(got)) {
        one.failed(now, base::jitter());
        if (was_closed && one.now() == breaker::state::open) tell_({server, true, in_words(got), false});
        return;
    }
    one.succeeded();
    if (!was_closed) tell_({server, false, "it works again", none_is_open()});
    forget_unused(now);
}

// A cluster may have given the slots of a lost server to others.
void breakers::forget_unused(time_point now) {
    for (auto it = all_.begin(); it != all_.end();) {
        if (!it->second.is_unused(now)) {
            ++it;
            continue;
        }
        const auto server = it->first;
        it = all_.erase(it);
        tell_({server, false, "no lock of this client is there any more", none_is_open()});
    }
}

void breakers::hurry(time_point now) {
    const base::guard lock(mutex_);
    for (auto& [server, one] : all_) one.hurry(now);
}

bool breakers::all_are_closed() {
    const base::guard lock(mutex_);
    return none_is_open();
}

bool breakers::none_is_open() const {
    return std::ranges::all_of(all_, [](const auto& b) { return b.second.now() == breaker::state::closed; });
}

}  // namespace holdfast::fallback
