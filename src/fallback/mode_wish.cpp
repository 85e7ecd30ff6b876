#include "fallback/mode_wish.hpp"

#include "base/clock.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace holdfast::fallback {

namespace {

using std::chrono::milliseconds;

// All clients hear the wish at the same time.
constexpr milliseconds apart{300};
constexpr milliseconds after_failure{1'000};
// Such a refusal may pass, as that for clocks which are apart, but not soon: each try asks the levels.
constexpr milliseconds after_refusal{5'000};
constexpr int most_doublings = 5;  // 80 s

boot_clock::duration at_random(milliseconds up_to) {
    return std::chrono::duration_cast<boot_clock::duration>(
        std::chrono::duration<double, std::milli>{static_cast<double>(up_to.count()) * base::jitter()});
}

}  // namespace

void mode_wish::want(std::size_t level, backend::mode_author author) { aim_at({level, std::move(author)}); }

void mode_wish::want_automatic(backend::mode_author author) { aim_at({std::nullopt, std::move(author)}); }

void mode_wish::aim_at(goal next) {
    reactor_.post([self = shared_from_this(), next = std::move(next)]() mutable {
        if (self->closed_) return;
        self->goal_ = std::move(next);
        ++self->wishes_;
        self->look_in(at_random(apart));
    });
}

void mode_wish::close() {
    reactor_.run_and_wait([this] {
        closed_ = true;
        reactor_.cancel(timer_);
    });
}

void mode_wish::look_in(boot_clock::duration pause) {
    reactor_.cancel(timer_);
    timer_ = reactor_.at(boot_clock::now() + pause, [self = shared_from_this()] { self->look(); });
}

void mode_wish::look() {
    if (closed_ || !goal_ || std::exchange(asks_, true)) return;
    in_.read_mode(boot_clock::now() + answer_timeout_,
                  [self = shared_from_this(), of = wishes_](backend::result<backend::group_mode> got) {
                      self->reactor_.post([self, of, got = std::move(got)] { self->on_mode(of, got); });
                  });
}

void mode_wish::on_mode(std::uint64_t of, const backend::result<backend::group_mode>& got) {
    asks_ = false;
    if (closed_ || !goal_) return;
    if (of != wishes_) return look_in({});  // what was so before the wish says nothing about it
    const auto* const now = std::get_if<backend::group_mode>(&got);
    if (now == nullptr) return look_in(after_failure);
    const auto deadline = boot_clock::now() + answer_timeout_;
    const backend::change_signature signature{goal_->author, base::wall_microseconds() / 1'000};
    const bool is_automatic = now->automation && now->automation->on;
    if (goal_->level && *goal_->level >= now->levels.size()) return goal_.reset();
    if (goal_->level && !is_automatic && goal_->course.is_overruled_by(*now)) return goal_.reset();
    if (!goal_->level || now->uses_only(*goal_->level)) {
        if (is_automatic == !goal_->level) return goal_.reset();
        asks_ = true;
        return in_.automate(!is_automatic, signature, deadline, look_after());
    }
    if (now->must_last > milliseconds{0}) return look_in(now->must_last + at_random(apart));
    asks_ = true;
    in_.step_towards(*goal_->level, *now, signature, deadline, look_after());
}

// Another client may have been faster: in any case it looks again.
backend::handler<backend::result<backend::group_mode>> mode_wish::look_after() {
    return [self = shared_from_this()](const backend::result<backend::group_mode>& after) {
        const auto* const no = std::get_if<backend::failure>(&after);
        boot_clock::duration pause{};
        if (no != nullptr) pause = at_random(after_failure);
        const bool refused = no != nullptr && no->code == condition::misuse;
        self->reactor_.post([self, pause, refused]() mutable {
            self->refusals_ = refused ? std::min(self->refusals_ + 1, most_doublings) : 0;
            if (refused) {
                const auto longest = after_refusal * (1 << (self->refusals_ - 1));
                pause = longest / 2 + at_random(longest / 2);
            }
            self->asks_ = false;
            if (!self->closed_) self->look_in(pause);
        });
    };
}

}  // namespace holdfast::fallback
