#include "backends/file/lock_directory.hpp"

#include "backends/file/failures.hpp"
#include "engine/kinds.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace holdfast::file_backend {

using namespace backend;

namespace {

sharing sharing_of(kind of) {
    return of == kind::shared_read || of == kind::semaphore ? sharing::shared : sharing::exclusive;
}

// The kernel reports that a file is closed a moment before it frees the lock, so a waiter may be too early.
// It rarely is: it needs more time to wake up.
std::optional<milliseconds> look_again_after(std::optional<time_point> closed) {
    constexpr milliseconds soon{10};
    const bool just_now = closed && boot_clock::now() - *closed < soon;
    return just_now ? std::optional{soon} : std::nullopt;
}

refused other_kind() { return {{make_error_code(errc::wrong_kind)}}; }

}  // namespace

// --- attempts ---------------------------------------------------------------------------------------

refused lock_directory::refusal(const place& on, int system_error) const {
    return {failure_of(system_error, on.path, paths_.directory())};
}

std::optional<attempt_answer> lock_directory::begin(const attempt_request& r, place& on) {
    const auto owner = number_of(r.owner.str());
    if (!owner)
        return refused{{make_error_code(errc::invalid_argument), "the owner is not one of this store"}};
    on.owner = *owner;
    on.file = paths::file_of(r.key.name);
    on.path = paths_.lock(on.file);
    if (const auto before = held_.find(on.owner)) {
        if (before->at.is_in_place(before->path) != 0)
            return granted{.lease = r.lease, .fence = before->fence, .repeated = true};
        (void)held_.take(on.owner);
    }
    on.at = waiting_->take(r.owner);
    if (on.at && on.at.is_in_place(on.path) == 0) on.at = {};
    if (on.at) return std::nullopt;
    on.at = lock_file::open(on.path, started_, lock_file::missing::make);
    if (!on.at) return refusal(on, errno);
    if (paths::is_hashed(on.file) && !noted_name(paths_, on.file)) note_name(paths_, on.file, r.key.name);
    return std::nullopt;
}

int lock_directory::try_lock(place& on, sharing how) const {
    constexpr int rounds = 16;
    for (int round = 0; round < rounds; ++round) {
        if (const int error = on.at.try_lock(how); error != ESTALE) return error;
        // Somebody has unlinked it in between, and others may lock a new file.
        on.at = {};
        on.at = lock_file::open(on.path, started_, lock_file::missing::make);
        if (!on.at) return errno;
    }
    return EAGAIN;
}

attempt_answer lock_directory::lock(const attempt_request& r) {
    place on;
    if (auto known = begin(r, on)) return *std::move(known);
    const auto how = sharing_of(r.key.of);
    if (const int error = try_lock(on, how); error == EWOULDBLOCK)
        return not_now(r, std::move(on));
    else if (error != 0)
        return refusal(on, error);
    // Holders that share the file are not busy for each other.
    if (how == sharing::shared && shows_other_kind(on.at, r.key.of)) return other_kind();
    if (permit_count::exists(paths_, on.file)) return other_kind();
    if (!engine::rules_of(r.key.of).fenced) return grant(r, std::move(on), fence::none);
    auto next = next_fence(paths_, on.file, fences_per_grant);
    if (auto* const no = std::get_if<failure>(&next)) return refuse(r, std::move(on), std::move(*no));
    return grant(r, std::move(on), static_cast<fence>(std::get<std::uint64_t>(next)));
}

adjust_answer lock_directory::raise_fence(const adjust_request& r) {
    const auto held = held_by(r.owner);
    if (!held || !engine::rules_of(held->of).fenced || held->at.is_in_place(held->path) != 1)
        return adjusted{0};
    const auto least = static_cast<std::uint64_t>(std::max<std::int64_t>(r.amount, 0));
    auto raised = file_backend::raise_fence(paths_, paths::file_of(r.key.name), least);
    if (auto* const no = std::get_if<failure>(&raised)) return refused{std::move(*no)};
    held->fence = static_cast<fence>(std::get<std::uint64_t>(raised));  // for a repeated attempt
    return adjusted{1};
}

bool lock_directory::shows_other_kind(const lock_file& at, kind of) const {
    const auto others = marks_of_other_kinds(of);
    for (const auto& range : {others.before, others.behind}) {
        const auto found = at.mark_of_another(range);
        if (found && mark_in(*found)) return true;
    }
    return false;
}

attempt_answer lock_directory::not_now(const attempt_request& r, place on) {
    if (shows_other_kind(on.at, r.key.of)) return other_kind();
    const auto closed = waiting_->closes().last_closed(r.key.name);
    keep_for_waiter(r, std::move(on));
    return busy{.look_again = look_again_after(closed)};
}

refused lock_directory::refuse(const attempt_request& r, place on, failure why) {
    on.at.unlock();
    keep_for_waiter(r, std::move(on));
    return {std::move(why)};
}

// Only where the handle of a watch will close it.
void lock_directory::keep_for_waiter(const attempt_request& r, place on) {
    if (!waiters_->find(r.key.of, r.owner)) return;
    on.at.set_mark(mark_of_waiter(on.owner));
    // The watch may be on a file that was replaced meanwhile.
    waiting_->closes().renew(r.key.name, on.path);
    waiting_->keep(r.owner, std::move(on.at));
}

attempt_answer lock_directory::grant(const attempt_request& r, place on, fence given) {
    const auto one = std::make_shared<held_lock>(r, on.owner, std::move(on.path), given, std::move(on.at));
    if (waiters_->find(r.key.of, r.owner)) one->at.remove_mark(mark_of_waiter(one->owner));
    // Without it the lock is held all the same, and operators see the process only.
    one->at.set_mark(mark_of_holder(one->of, one->owner));
    held_.add(one);
    return granted{.lease = r.lease, .fence = given};
}

held_locks::entry lock_directory::held_by(const owner_id& owner) const {
    const auto number = number_of(owner.str());
    return number ? held_.find(*number) : nullptr;
}

// --- while it is held -------------------------------------------------------------------------------

renew_answer lock_directory::renew(const renew_request& r) {
    const auto one = held_by(r.owner);
    if (!one) return not_held{};
    switch (one->at.is_in_place(one->path)) {
        case 1: break;
        case 0: (void)held_.take(one->owner); return not_held{};
        default: return refused{failure_of(errno, one->path, paths_.directory())};
    }
    const auto before = r.holds == 0 ? 0 : one->holds.exchange(r.holds);
    if (before != r.holds && engine::rules_of(one->of).most_permits == 1) {
        if (before > r.holds) one->at.remove_mark(mark_of_count(one->owner, before));
        if (r.holds > 1) one->at.set_mark(mark_of_count(one->owner, r.holds));
    }
    return renewed{r.lease};
}

release_answer lock_directory::release(const release_request& r) {
    waiting_->drop(r.owner);
    const auto owner = number_of(r.owner.str());
    const auto one = owner ? held_.take(*owner) : nullptr;
    if (!one) return not_held{};
    // Who has unlinked the file may have let another process in.
    if (!one->at.is_linked()) return not_held{};
    released done;
    if (one->at.mark_of_another(marks_of_waiters())) done.listeners = 1;
    one->at.free();
    return done;
}

bool lock_directory::drop(const owner_id& owner) {
    const auto number = number_of(owner.str());
    const auto one = number ? held_.take(*number) : nullptr;
    if (one) one->at.free();
    return one != nullptr;
}

void lock_directory::drop_all() {
    for (const auto& one : held_.take_all()) one->at.free();
}

}  // namespace holdfast::file_backend
