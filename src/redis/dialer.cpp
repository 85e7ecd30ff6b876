#include "redis/dialer.hpp"

#include "redis/endpoint_source.hpp"

#include <utility>

namespace holdfast::redis {

void dialer::begin(std::weak_ptr<void> owner, handlers tell) {
    owner_ = std::move(owner);
    tell_ = std::move(tell);
    dial();
}

void dialer::dial() {
    timer_ = {};
    if (closed_) return;
    if (config_.source && !following_) {
        following_ = config_.source->follow([this, owner = owner_](const host_port& to) {
            if (const auto alive = owner.lock()) tell_.on_moved(to);
        });
    }
    connector_ = std::make_shared<connector>(config_, use_, reactor_, [this, owner = owner_](auto result) {
        const auto alive = owner.lock();
        if (!alive) return;
        connector_.reset();
        if (auto* const made = std::get_if<connected>(&result)) {
            up_since_ = boot_clock::now();
            return tell_.on_connected(std::move(*made));
        }
        const auto& failure = std::get<connect_failure>(result);
        dial_later(failure.kind == connect_failure::what::refused ? backoff_.refused() : backoff_.next());
        tell_.on_failed(failure);
    });
    connector_->start();
}

void dialer::dial_later(std::chrono::nanoseconds pause) {
    if (closed_) return;
    timer_ = reactor_.at(boot_clock::now() + pause, [this, owner = owner_] {
        if (const auto alive = owner.lock()) dial();
    });
}

void dialer::lost_token() {
    // A connection that did not last is no reason to shorten the pauses.
    if (boot_clock::now() - up_since_ >= config_.backoff.most) backoff_.reset();
    dial_later(backoff_.next());
}

void dialer::go_to(const host_port& to) {
    if (connector_ && connector_->leads_elsewhere(to)) {
        connector_->cancel();
        dial();
    } else if (timer_.serial != 0) {
        reactor_.cancel(timer_);
        dial();
    }
}

void dialer::close() {
    closed_ = true;
    following_.reset();
    if (connector_) connector_->cancel();
    connector_.reset();
    if (timer_.serial != 0) reactor_.cancel(timer_);
}

}  // namespace holdfast::redis
