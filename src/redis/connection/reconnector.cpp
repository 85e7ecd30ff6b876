#include "redis/connection/reconnector.hpp"

#include "redis/connection/endpoint_source.hpp"

#include <utility>

namespace holdfast::redis {

void reconnector::begin(std::weak_ptr<void> owner, handlers to) {
    owner_ = std::move(owner);
    handlers_ = std::move(to);
    connect();
}

void reconnector::connect() {
    timer_ = {};
    if (closed_) return;
    if (config_.source && !following_) {
        following_ = config_.source->follow([this, owner = owner_](const host_port& to) {
            if (const auto alive = owner.lock()) handlers_.on_moved(to);
        });
    }
    connector_ = std::make_shared<connector>(config_, use_, reactor_, [this, owner = owner_](auto result) {
        const auto alive = owner.lock();
        if (!alive) return;
        connector_.reset();
        if (auto* const made = std::get_if<connected>(&result)) {
            up_since_ = boot_clock::now();
            return handlers_.on_connected(std::move(*made));
        }
        const auto& failure = std::get<connect_failure>(result);
        connect_later(failure.kind == connect_failure::what::refused ? backoff_.refused() : backoff_.next());
        handlers_.on_failed(failure);
    });
    connector_->start();
}

void reconnector::connect_later(std::chrono::nanoseconds pause) {
    if (closed_) return;
    timer_ = reactor_.at(boot_clock::now() + pause, [this, owner = owner_] {
        if (const auto alive = owner.lock()) connect();
    });
}

void reconnector::lost() {
    // A connection that did not last is no reason to shorten the pauses.
    if (boot_clock::now() - up_since_ >= config_.backoff.most) backoff_.reset();
    connect_later(backoff_.next());
}

void reconnector::go_to(const host_port& to) {
    if (connector_ && connector_->leads_elsewhere(to)) {
        connector_->cancel();
        connect();
    } else if (timer_.serial != 0) {
        reactor_.cancel(timer_);
        connect();
    }
}

void reconnector::close() {
    closed_ = true;
    following_.reset();
    if (connector_) connector_->cancel();
    connector_.reset();
    if (timer_.serial != 0) reactor_.cancel(timer_);
}

}  // namespace holdfast::redis
