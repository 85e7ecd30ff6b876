#include "zookeeper/session_proof.hpp"

#include <algorithm>

namespace holdfast::zookeeper {

void session_proof::attached(time_point login_sent, boot_clock::duration safe_timeout, milliseconds tick) {
    detached();
    safe_timeout_ = safe_timeout;
    tick_ = tick;
    signs_.push_back({login_sent, login_sent});
}

void session_proof::detached() {
    signs_.clear();
    latest_.reset();
}

void session_proof::answered(time_point sent, time_point now) {
    // One of many answers at nearly the same time is enough.
    constexpr int signs_in_a_tick = 20;
    if (signs_.empty()) return;  // not attached
    const auto& last = signs_.back();
    if (sent < last.sent || now + tick_ < last.counts_from + tick_ / signs_in_a_tick) return;
    signs_.push_back({sent, now + tick_});
    // A later write counts from the second of these, too.
    while (signs_.size() > 1 && signs_[1].counts_from <= sent) signs_.pop_front();
}

void session_proof::written(time_point sent) {
    std::optional<time_point> alive;
    for (const auto& sign : signs_) {
        if (sign.counts_from > sent) break;
        alive = sign.sent;
    }
    if (alive && (!latest_ || latest_->alive < *alive)) latest_ = started{*alive};
}

}  // namespace holdfast::zookeeper
