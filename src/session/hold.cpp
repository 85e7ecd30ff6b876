#include "session/hold.hpp"

#include "session/client_lock.hpp"
#include "session/client_state.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace holdfast::session {

namespace {

const owner_id nobody;

// Combines the results of several releases; the last one calls `done`.
struct joint_release {
    explicit joint_release(std::size_t n, callback<void(release_result)> d)
        : missing(n), done(std::move(d)) {}

    void take(const release_result& one) {
        {
            base::guard lock(mutex);
            worst = worse_of(worst, one);
            if (--missing > 0) return;
        }
        if (done) done(worst);
    }

    base::mutex mutex;
    std::size_t missing GUARDED_BY(mutex);
    release_result worst{release_outcome::released, {}};
    callback<void(release_result)> done;
};

// The worst state first.
int rank(lease_state s) {
    switch (s) {
        case lease_state::lost: return 0;
        case lease_state::empty: return 1;
        case lease_state::released: return 2;
        case lease_state::jeopardy: return 3;
        case lease_state::held: break;
    }
    return 4;
}

}  // namespace

// --- of one -----------------------------------------------------------------------------------------

lease_state hold_of_one::state() const noexcept {
    if (how_ended() == ended::released) return lease_state::released;
    return of->state();
}

holdfast::strength hold_of_one::strength() const noexcept { return of->strength(in->client().strength()); }

std::string hold_of_one::store() const {
    const auto& url = in->client().settings.url;
    return url.substr(0, url.find(':'));
}

bool hold_of_one::renew() { return in->renew(*this); }

release_result hold_of_one::release() noexcept { return in->release(*this); }

void hold_of_one::release_later(callback<void(release_result)> done) {
    in->release_later(std::static_pointer_cast<hold_of_one>(shared_from_this()), std::move(done));
}

// --- of all -----------------------------------------------------------------------------------------

release_result worse_of(const release_result& one, const release_result& other) noexcept {
    // A loss is certain, whereas the others may all have gone well.
    for (const auto& r : {one, other}) {
        if (r == release_outcome::already_lost) return r;
    }
    if (one == release_outcome::released) return other;
    if (other == release_outcome::released) return one;
    return one.until < other.until ? other : one;
}

bool hold_of_all::valid() const noexcept {
    return std::ranges::all_of(parts_, [](const auto& part) { return part->valid(); });
}

time_point hold_of_all::deadline() const noexcept {
    auto first = time_point::max();
    for (const auto& part : parts_) first = std::min(first, part->deadline());
    return first;
}

lease_state hold_of_all::state() const noexcept {
    auto worst = lease_state::held;
    for (const auto& part : parts_)
        worst = std::min(worst, part->state(), [](auto a, auto b) { return rank(a) < rank(b); });
    return worst;
}

std::stop_token hold_of_all::lost_token() {
    base::guard lock(mutex_);
    if (!lost_.stop_possible()) {
        lost_ = std::stop_source{};
        for (const auto& part : parts_) callbacks_.emplace_back(part->lost_token(), stop{lost_});
    }
    return lost_.get_token();
}

holdfast::strength hold_of_all::strength() const noexcept {
    auto least = parts_.front()->strength();
    for (const auto& part : parts_) least = std::min(least, part->strength());
    return least;
}

std::string hold_of_all::store() const {
    const auto first = parts_.front()->store();
    const auto is_first = [&](const auto& part) { return part->store() == first; };
    return std::ranges::all_of(parts_, is_first) ? first : std::string{};
}

const owner_id& hold_of_all::owner() const noexcept { return nobody; }

std::uint32_t hold_of_all::acks() const noexcept {
    auto fewest = parts_.front()->acks();
    for (const auto& part : parts_) fewest = std::min(fewest, part->acks());
    return fewest;
}

bool hold_of_all::renew() {
    return std::ranges::all_of(parts_, [](const auto& part) { return part->renew(); });
}

release_result hold_of_all::release() noexcept {
    release_result worst{release_outcome::released, {}};
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part)
        worst = worse_of(worst, (*part)->release());
    return worst;
}

void hold_of_all::release_later(callback<void(release_result)> done) {
    const auto all = std::make_shared<joint_release>(parts_.size(), std::move(done));
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part)
        (*part)->release_later([all](const release_result& r) { all->take(r); });
}

}  // namespace holdfast::session
