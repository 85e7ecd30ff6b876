// Semaphores. The number of permits is in a side file; those that are held are marks, so that the kernel
// returns the permits of a dead process. Whoever takes permits or changes their number has a turn at the side
// file, for some microseconds.
#include "backends/file/failures.hpp"
#include "backends/file/lock_directory.hpp"
#include "engine/lock_record.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace holdfast::file_backend {

using namespace backend;

namespace {

using permit_total = std::optional<std::int64_t>;

std::int64_t bounded(std::int64_t count) {
    return std::clamp(count, -engine::largest_count, engine::largest_count);
}

failure locked_by_fcntl(const std::string& path) {
    return {make_error_code(errc::unavailable), "another program has locked " + path + " by fcntl(2)"};
}

}  // namespace

// The marks of one file do not overlap. The kernel shows any of those in a range, so what lies before and
// behind it is looked at, too.
permit_total lock_directory::permits_held(const lock_file& at) {
    std::int64_t sum = 0;
    std::vector<byte_range> open{marks_of_counts()};
    while (!open.empty()) {
        const auto range = open.back();
        open.pop_back();
        const auto found = at.mark_of_another(range);
        if (!found) continue;
        const auto end = range.start + range.length;
        const auto found_end = found->start + found->length;
        if (found->length <= 0 || found->start < range.start || found_end > end) return std::nullopt;
        sum += found->length;
        open.push_back({range.start, found->start - range.start});
        open.push_back({found_end, end - found_end});
    }
    return sum;
}

bool lock_directory::mark_permits(const lock_file& at, const owner_number& owner,
                                  std::uint32_t permits) const {
    constexpr std::int64_t whole_place = std::int64_t{1} << 30;
    for (unsigned choice = 0; choice < choices; ++choice) {
        const auto range = mark_of_count(owner, permits, choice);
        if (!at.mark_of_another({range.start, whole_place})) return at.set_mark(range);
    }
    errno = EAGAIN;
    return false;
}

std::optional<attempt_answer> lock_directory::take_permits(const attempt_request& r) {
    using missing = permit_count::missing;
    const auto file = paths::file_of(r.key.name);
    auto opened = permit_count::open(paths_, file, r.total ? missing::make : missing::leave);
    if (auto* const no = std::get_if<failure>(&opened)) return refused{std::move(*no)};
    const auto& count = std::get<std::optional<permit_count>>(opened);
    if (count && !count->take()) return std::nullopt;

    place on;
    if (auto known = begin(r, on)) return known;
    if (const int error = try_lock(on, sharing::shared); error == EWOULDBLOCK)
        return not_now(r, std::move(on));
    else if (error != 0)
        return refusal(on, error);
    // A waiter shares the file with nobody: flock(1) may have it meanwhile.
    const auto unlocked = [&] {
        on.at.unlock();
        return not_now(r, std::move(on));
    };
    if (shows_other_kind(on.at, r.key.of)) return unlocked();
    if (!count) return unlocked();
    const auto refused_because = [&](failure why) { return refuse(r, std::move(on), std::move(why)); };
    auto read = count->read();
    if (auto* const no = std::get_if<failure>(&read)) return refused_because(std::move(*no));
    auto& total = std::get<permit_total>(read);
    if (!total && !r.total) return unlocked();
    if (!total) {
        if (auto no = count->write(*r.total)) return refused_because(*std::move(no));
        total = r.total;
    }
    const auto held = permits_held(on.at);
    if (!held) return refused_because(locked_by_fcntl(on.path));
    if (*total - *held < static_cast<std::int64_t>(r.permits)) return unlocked();
    if (!mark_permits(on.at, on.owner, r.permits)) return refused_because(refusal(on, errno).why());
    return grant(r, std::move(on), fence::none);
}

std::optional<adjust_answer> lock_directory::adjust(const adjust_request& r) {
    using missing = permit_count::missing;
    const bool sets = r.what == adjustment::set_if_unset || r.what == adjustment::add;
    place on;
    on.file = paths::file_of(r.key.name);
    on.path = paths_.lock(on.file);
    // Its close is what wakes waiters.
    on.at = lock_file::open(on.path, started_, sets ? lock_file::missing::make : lock_file::missing::leave);
    if (!on.at && (sets || errno != ENOENT)) return refusal(on, errno);
    if (const int error = on.at ? on.at.identify() : 0; error != 0 && error != ESTALE)
        return refusal(on, error);
    if (on.at && shows_other_kind(on.at, r.key.of)) return refused{{make_error_code(errc::wrong_kind)}};
    auto opened = permit_count::open(paths_, on.file, sets ? missing::make : missing::leave);
    if (auto* const no = std::get_if<failure>(&opened)) return refused{std::move(*no)};
    const auto& count = std::get<std::optional<permit_count>>(opened);
    if (!count || !on.at) return adjusted{0};
    if (!count->take()) return std::nullopt;
    auto read = count->read();
    if (auto* const no = std::get_if<failure>(&read)) return refused{std::move(*no)};
    const auto total = std::get<permit_total>(read);
    const auto held = permits_held(on.at);
    if (!held) return refused{locked_by_fcntl(on.path)};

    permit_total next;
    std::int64_t answer = 0;
    held_locks::entry given_up;
    switch (r.what) {
        case adjustment::set_if_unset:
            if (!total) next = bounded(r.amount);
            answer = total ? 0 : 1;
            break;
        case adjustment::add:
            next = bounded(total.value_or(0) +
                           std::clamp(r.amount, -2 * engine::largest_count, 2 * engine::largest_count));
            answer = *next - *held;
            break;
        case adjustment::drain:
            if (total) next = *held;
            answer = total ? *total - *held : 0;
            break;
        case adjustment::read: answer = total ? *total - *held : 0; break;
        case adjustment::disown:
            given_up = held_by(r.owner);
            if (given_up) next = total.value_or(0) - given_up->permits;
            answer = given_up ? 1 : 0;
            break;
        case adjustment::count_down:
        case adjustment::erase:
        case adjustment::release:
        case adjustment::raise_fence:
            return refused{{make_error_code(errc::invalid_argument), "a semaphore in a file cannot do that"}};
    }
    if (next) {
        if (auto no = count->write(*next)) return refused{*std::move(no)};
    }
    if (given_up) (void)drop(r.owner);
    return adjusted{answer};
}

permit_total lock_directory::permits_of(const lock_name& name) const {
    const auto opened = permit_count::open(paths_, paths::file_of(name), permit_count::missing::leave);
    const auto* const count = std::get_if<std::optional<permit_count>>(&opened);
    if (count == nullptr || !*count) return std::nullopt;
    const auto read = (*count)->read();
    const auto* const total = std::get_if<permit_total>(&read);
    return total != nullptr ? *total : std::nullopt;
}

}  // namespace holdfast::file_backend
