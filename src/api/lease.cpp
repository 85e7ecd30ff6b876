#include <holdfast/lease.hpp>

#include "session/cell.hpp"
#include "session/core.hpp"

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
        hold_->in->release_later(hold_, {});
    else
        release();
}

bool lease::valid() const noexcept { return hold_ && !hold_->result && hold_->of->valid(); }

std::chrono::nanoseconds lease::remaining() const noexcept {
    if (!valid()) return std::chrono::nanoseconds::zero();
    return std::max<std::chrono::nanoseconds>(hold_->of->deadline() - boot_clock::now(),
                                              std::chrono::nanoseconds::zero());
}

boot_clock::time_point lease::deadline() const noexcept {
    return hold_ ? hold_->of->deadline() : boot_clock::time_point{};
}

lease_state lease::state() const noexcept {
    if (!hold_) return lease_state::empty;
    if (hold_->result && *hold_->result != release_outcome::already_lost) return lease_state::released;
    return hold_->of->state();
}

std::stop_token lease::lost() const noexcept { return hold_ ? hold_->of->lost() : std::stop_token{}; }

holdfast::fence lease::fence() const noexcept { return hold_ ? hold_->of->token : holdfast::fence::none; }

holdfast::strength lease::strength() const noexcept {
    return hold_ ? hold_->in->client().gives() : holdfast::strength::process_local;
}

const owner_id& lease::owner() const noexcept { return hold_ ? hold_->of->owner : nobody; }

release_result lease::release() noexcept {
    if (!hold_) return {};
    return hold_->in->release(*hold_);
}

}  // namespace holdfast
