#include <holdfast/lease.hpp>

#include "session/hold.hpp"

#include <algorithm>

namespace holdfast {

namespace {

const owner_id nobody;

}  // namespace

lease& lease::operator=(lease&& other) noexcept {
    if (this != &other) {
        drop();
        hold_ = std::move(other.hold_);
    }
    return *this;
}

lease::~lease() { drop(); }

void lease::drop() noexcept {
    if (!hold_) return;
    if (hold_->unattended)
        hold_->release_later({});
    else
        release();
}

bool lease::valid() const noexcept { return hold_ && hold_->valid(); }

std::chrono::nanoseconds lease::remaining() const noexcept {
    if (!valid()) return std::chrono::nanoseconds::zero();
    return std::max<std::chrono::nanoseconds>(hold_->deadline() - boot_clock::now(),
                                              std::chrono::nanoseconds::zero());
}

boot_clock::time_point lease::deadline() const noexcept {
    return hold_ ? hold_->deadline() : boot_clock::time_point{};
}

lease_state lease::state() const noexcept { return hold_ ? hold_->state() : lease_state::empty; }

std::stop_token lease::lost_token() const noexcept { return hold_ ? hold_->lost_token() : std::stop_token{}; }

holdfast::fence lease::fence() const noexcept { return hold_ ? hold_->fence() : holdfast::fence::none; }

holdfast::strength lease::strength() const noexcept {
    return hold_ ? hold_->strength() : holdfast::strength::process_local;
}

const owner_id& lease::owner() const noexcept { return hold_ ? hold_->owner() : nobody; }

std::string lease::store() const { return hold_ ? hold_->store() : std::string{}; }

std::uint32_t lease::acks() const noexcept { return hold_ ? hold_->acks() : 0; }

bool lease::renew() { return hold_ && hold_->renew(); }

release_result lease::release() noexcept { return hold_ ? hold_->release() : release_result{}; }

}  // namespace holdfast
