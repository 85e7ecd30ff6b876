#include "fallback/mode_wish.hpp"

#include "base/clock.hpp"
#include "base/random.hpp"

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
                  [self = shared_from_this()](backend::result<backend::group_mode> got) {
                      self->reactor_.post([self, got = std::move(got)] { self->on_mode(got); });
                  });
}

void mode_wish::on_mode(const backend::result<backend::group_mode>& got) {
    asks_ = false;
    if (closed_ || !goal_) return;
    const auto* const now = std::get_if<backend::group_mode>(&got);
    if (now == nullptr) return look_in(after_failure);
    const auto deadline = boot_clock::now() + answer_timeout_;
    const backend::change_signature signature{goal_->author, base::wall_microseconds() / 1'000};
    const bool is_automatic = now->automation && now->automation->on;
    if (goal_->level && *goal_->level >= now->levels.size()) return goal_.reset();
    if (goal_->level && goal_->course.is_overruled_by(*now)) return goal_.reset();
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
        if (no != nullptr)
            pause = no->code == condition::misuse ? after_refusal / 2 + at_random(after_refusal / 2)
                                                  : at_random(after_failure);
        self->reactor_.post([self, pause] {
            self->asks_ = false;
            if (!self->closed_) self->look_in(pause);
        });
    };
}

}  // namespace holdfast::fallback
