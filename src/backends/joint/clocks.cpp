// The clocks of the levels: a change between two that are too far apart is refused.
#include "backends/joint/core.hpp"
#include "backends/joint/skew.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::joint_backend {

namespace {

// A level that is down does not answer, and the change away from it must not wait for long.
constexpr milliseconds longest_look{500};

}  // namespace

// Two at most; the last answer makes the result.
struct core::clock_look {
    std::vector<std::size_t> of;
    std::vector<result<readings>> got;
    std::size_t open;
    handler<std::vector<result<readings>>> done;
};

bool core::has_clocks() const {
    return std::ranges::all_of(levels_, [](const auto& l) {
        return l->store->has().fences_follow_time && l->store->as_server_clock() != nullptr;
    });
}

void core::read_clocks(std::vector<std::size_t> of, time_point deadline,
                       handler<std::vector<result<readings>>> done) {
    given_.reactor.post(
        [self = shared_from_this(), of = std::move(of), deadline, done = std::move(done)]() mutable {
            const auto n = of.size();
            if (self->closed()) return done(std::vector<result<readings>>(n, closing()));
            const auto look = std::make_shared<clock_look>(
                clock_look{std::move(of), std::vector<result<readings>>(n, closing()), n, std::move(done)});
            for (std::size_t k = 0; k < n; ++k)
                self->level(look->of[k])
                    .as_server_clock()
                    ->read_clocks(deadline, [self, look, k](result<readings> one) {
                        self->given_.reactor.post([look, k, one = std::move(one)]() mutable {
                            look->got[k] = std::move(one);
                            if (--look->open == 0) look->done(std::move(look->got));
                        });
                    });
        });
}

// Back to the level of the mode before no fence can fall: both levels know those given since.
void core::change_mode(std::uint64_t from_epoch, const needed_levels& from, needed_levels to,
                       change_signature by, changed_by how, time_point deadline,
                       handler<result<confirmed_mode>> done) {
    const bool goes_back = from.size() == 2 && to.size() == 1 && to.front() == from.front();
    if (goes_back || !has_clocks())
        return keeper_->change(from_epoch, std::move(to), std::move(by), how, deadline, std::move(done));
    const auto pair = to.size() == 2 ? to : from;
    const auto now = boot_clock::now();
    const auto until = std::min(now + longest_look, now + (deadline - now) / 2);
    read_clocks(pair, until,
                [self = shared_from_this(), pair, from_epoch, to = std::move(to), by = std::move(by), how,
                 deadline, done = std::move(done)](const std::vector<result<readings>>& got) mutable {
                    if (auto no = self->too_far_apart(pair, got)) return done(*std::move(no));
                    self->keeper_->change(from_epoch, std::move(to), std::move(by), how, deadline,
                                          std::move(done));
                });
}

// A level that does not answer may be the reason for the change: only what is sure is refused.
std::optional<failure> core::too_far_apart(const needed_levels& of,
                                           const std::vector<result<readings>>& got) {
    const auto* const first = std::get_if<readings>(&got[0]);
    const auto* const second = std::get_if<readings>(&got[1]);
    if (first == nullptr || second == nullptr) return std::nullopt;
    const auto measured = skew_between(*first, *second);
    const bool too_far = measured.surely_exceeds(wanted.max_skew);
    const bool was_told = clocks_apart_.exchange(too_far);
    if (!too_far) return std::nullopt;
    const auto why = in_words(measured, place(of[0]), place(of[1]), wanted.max_skew);
    if (!was_told)
        given_.notify({.what = notice::change::clocks_apart, .detail = "the mode is not changed: " + why});
    return failure{make_error_code(errc::invalid_argument), why, {}};
}

// --- examination ------------------------------------------------------------------------------------

namespace {

finding about_clocks(const std::string& group) {
    return {.id = "level-clocks",
            .subject = "the levels of the group " + group,
            .meaning =
                "The fences of each level follow its clock. A change to a level whose clock is behind "
                "by more than max_skew could make smaller fences, so it is refused.",
            .falls = promise::fenced};
}

}  // namespace

void core::examine_clocks(time_point deadline, handler<std::vector<finding>> done) {
    if (!has_clocks()) return done({});
    std::vector<std::size_t> all(size());
    for (std::size_t i = 0; i < size(); ++i) all[i] = i;
    read_clocks(std::move(all), std::min(deadline, boot_clock::now() + settings_.answer_timeout),
                [self = shared_from_this(), done = std::move(done)](
                    const std::vector<result<readings>>& got) mutable { done(self->findings_about(got)); });
}

std::vector<finding> core::findings_about(const std::vector<result<readings>>& clocks) const {
    std::vector<finding> all;
    for (std::size_t i = 0; i + 1 < clocks.size(); ++i) {
        auto& f = all.emplace_back(about_clocks(wanted.group));
        const auto missing = std::find_if(clocks.begin() + static_cast<std::ptrdiff_t>(i),
                                          clocks.begin() + static_cast<std::ptrdiff_t>(i) + 2,
                                          [](const auto& c) { return std::holds_alternative<failure>(c); });
        if (missing < clocks.begin() + static_cast<std::ptrdiff_t>(i) + 2) {
            f.how_bad = severity::unknown;
            f.found = place(static_cast<std::size_t>(missing - clocks.begin())) +
                      " does not say what time it is: " + std::get<failure>(*missing).in_one();
            continue;
        }
        const auto measured = skew_between(std::get<readings>(clocks[i]), std::get<readings>(clocks[i + 1]));
        f.found = in_words(measured, place(i), place(i + 1), wanted.max_skew);
        f.how_bad = measured.surely_exceeds(wanted.max_skew) ? severity::warning
                    : measured.may_exceed(wanted.max_skew)   ? severity::unknown
                                                             : severity::ok;
        if (f.how_bad == severity::warning)
            f.mending =
                "Keep the clocks of all servers with NTP (chrony), or give all clients of the group a "
                "greater max_skew.";
    }
    return all;
}

}  // namespace holdfast::joint_backend
