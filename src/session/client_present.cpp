// What metrics look at when they are asked for.
#include "session/client_lock.hpp"
#include "session/client_state.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::session {

std::map<const observe::lock_counters*, client_state::present> client_state::look_at_locks() {
    std::map<const observe::lock_counters*, present> all;
    std::vector<std::shared_ptr<client_lock>> locks;
    const auto now = boot_clock::now();
    {
        base::guard lock(mutex_);
        for (const auto& [id, t] : leases_) {
            auto& longest = all[t->counts].longest_hold;
            longest = std::max(longest, now - t->since);
        }
        for (const auto& [key, weak] : locks_)
            if (auto one = weak.lock()) locks.push_back(std::move(one));
    }
    for (const auto& one : locks) {
        auto& of = all[&one->counts()];
        one->each_waiting([&](time_point since) {
            ++of.waiting;
            of.oldest_wait = std::max(of.oldest_wait, now - since);
        });
    }
    return all;
}

std::optional<bool> client_state::store_is_up() {
    base::guard lock(mutex_);
    if (current_events_.contains(event_kind::store_down)) return false;
    if (current_events_.contains(event_kind::store_up)) return true;
    return std::nullopt;
}

std::optional<bool> client_state::source_is_up() const {
    if (!source_is_down_) return std::nullopt;
    return !source_is_down_->load();
}

bool client_state::is_so(event_kind kind) {
    base::guard lock(mutex_);
    return current_events_.contains(kind);
}

}  // namespace holdfast::session
