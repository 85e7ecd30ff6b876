// Random sequences of events: in any order, an acquisition keeps its promises.
#include "engine/acquire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <string>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

// Plays one sequence and checks every action against a simple record of requests and answers.
class story {
  public:
    explicit story(unsigned seed) : random_(seed) {
        how_.lease = milliseconds{pick(20, 5'000)};
        how_.once = pick(0, 9) == 0;
        how_.listen = pick(0, 4) != 0;
        how_.expect_queue = pick(0, 3) == 0;
        how_.give_up_at = pick(0, 1) == 0 ? now_ + milliseconds{pick(0, 20'000)} : time_point::max();
        machine_.emplace(how_);
    }

    void play() {
        carry_out(machine_->resume(begun{}, now_));
        for (int step = 0; step < 60 && !stopped_; ++step) {
            carry_out(machine_->resume(random_event(), now_));
            if (::testing::Test::HasFailure()) return;
        }
        // Without further events, the clock alone ends every bounded acquisition.
        const bool bounded = how_.once || how_.give_up_at != time_point::max();
        for (int step = 0; bounded && !stopped_; ++step) {
            ASSERT_LT(step, 5'000) << "it hangs";
            now_ = std::max(now_, until_);
            carry_out(machine_->resume(alarm(), now_));
            if (::testing::Test::HasFailure()) return;
        }
        // After its end it does nothing.
        for (int step = 0; stopped_ && step < 10; ++step) {
            const auto more = machine_->resume(random_event(), now_);
            if (!cancel_last_) {
                ASSERT_TRUE(std::holds_alternative<wait>(more)) << "acts after its end";
            }
        }
    }

  private:
    [[nodiscard]] int pick(int least, int most) {
        return std::uniform_int_distribution{least, most}(random_);
    }

    // Few values, so that old tickets meet new attempts.
    [[nodiscard]] std::string ticket() {
        return pick(0, 3) == 0 ? std::string{} : std::to_string(pick(1, 3));
    }

    backend::attempt_answer some_answer() {
        switch (pick(0, 7)) {
            case 0:
                return backend::granted{milliseconds{pick(0, 5'000)}, fence::none,
                                        asked_ > 1 && pick(0, 1) == 0};
            case 1: return backend::unknown{{make_error_code(errc::unknown_outcome), {}}};
            case 2: {
                backend::refused no{
                    {make_error_code(pick(0, 5) == 0 ? errc::no_permission : errc::unavailable), {}}};
                if (pick(0, 2) == 0) no.look_again = milliseconds{pick(-1, 3'000)};
                return no;
            }
            default: {
                backend::busy b{"somebody", std::nullopt, ticket(), milliseconds{pick(0, 4'000)}};
                if (pick(0, 1) == 0) b.look_again = milliseconds{pick(-1, 3'000)};
                return b;
            }
        }
    }

    acquire_event random_event() {
        cancel_last_ = false;
        now_ += milliseconds{pick(0, 3) == 0 ? pick(0, 2'000) : pick(0, 20)};
        switch (pick(0, 9)) {
            case 0:
            case 1:
            case 2:
            case 3: {
                const auto number =
                    pick(0, 4) == 0 ? static_cast<unsigned>(pick(0, static_cast<int>(asked_) + 1)) : asked_;
                auto a = some_answer();
                if (in_flight_ && number == asked_) note(a);
                return answered{number, std::move(a)};
            }
            case 4:
            case 5:
            case 6: {
                using change = backend::watch_event::change;
                constexpr std::array changes{change::watching, change::woken, change::woken, change::broken,
                                             change::refused};
                return watched{{changes[static_cast<std::size_t>(pick(0, 4))], {ticket()}}};
            }
            case 7:
                if (pick(0, 9) == 0) {
                    cancel_last_ = true;
                    return cancelled{};
                }
                [[fallthrough]];
            default:
                if (pick(0, 1) == 0) now_ = std::max(now_, until_);
                return alarm();
        }
    }

    acquire_event alarm() {
        if (in_flight_ && now_ >= until_) {
            in_flight_ = false;
            unanswered_ = true;
        }
        return elapsed{};
    }

    void note(const backend::attempt_answer& a) {
        in_flight_ = false;
        if (const auto* yes = std::get_if<backend::granted>(&a)) {
            granted_ = {sends_[asked_], std::min(how_.lease, yes->lease)};
        } else if (const auto* b = std::get_if<backend::busy>(&a)) {
            last_busy_ = *b;
            last_busy_send_ = sends_[asked_];
        } else if (std::holds_alternative<backend::unknown>(a)) {
            unanswered_ = true;
        }
    }

    void carry_out(const acquire_action& action) {
        if (const auto* a = std::get_if<send_attempt>(&action)) {
            ASSERT_FALSE(in_flight_) << "two attempts at once";
            ASSERT_EQ(a->number, asked_ + 1);
            asked_ = a->number;
            sends_[asked_] = now_;
            in_flight_ = true;
            queued_ = queued_ || a->want == backend::intent::queue;
            plan(a->until);
        } else if (const auto* l = std::get_if<listen>(&action)) {
            ASSERT_TRUE(how_.listen);
            ASSERT_FALSE(listened_) << "listens twice";
            listened_ = true;
            plan(l->until);
        } else if (const auto* w = std::get_if<wait>(&action)) {
            plan(w->until);
        } else if (const auto* got = std::get_if<hold_it>(&action)) {
            stopped_ = true;
            ASSERT_GT(got->deadline, now_);
            if (got->claim) {
                ASSERT_TRUE(last_busy_) << "handed off without any answered attempt";
                ASSERT_FALSE(last_busy_->ticket.empty());
                ASSERT_LE(got->deadline, last_busy_send_ + last_busy_->handed_lease);
            } else {
                ASSERT_TRUE(granted_) << "granted without a grant of the store";
                ASSERT_LE(got->deadline, granted_->sent() + granted_->lease());
            }
            ASSERT_EQ(got->stray, unanswered_);
        } else {
            const auto& no = std::get<give_up>(action);
            stopped_ = true;
            ASSERT_TRUE(no.why.code);
            const bool maybe_granted = in_flight_ || unanswered_ || granted_;
            if (maybe_granted || queued_) {
                ASSERT_NE(no.cleanup, undo::none);
            }
            if (unanswered_) {
                ASSERT_EQ(no.cleanup, undo::insist);
            }
        }
    }

    void plan(time_point until) {
        ASSERT_LT(until, now_ + 1h) << "no time is named for the next step";
        until_ = until;
    }

    std::mt19937 random_;
    acquire_settings how_;
    std::optional<acquire> machine_;
    time_point now_{1h};
    time_point until_{};

    unsigned asked_ = 0;
    std::map<unsigned, time_point> sends_;
    bool in_flight_ = false;
    bool unanswered_ = false;
    bool queued_ = false;
    bool listened_ = false;
    bool stopped_ = false;
    bool cancel_last_ = false;
    std::optional<lease_request> granted_;
    std::optional<backend::busy> last_busy_;
    time_point last_busy_send_{};
};

TEST(acquire_property, no_order_of_events_breaks_a_promise) {
    for (unsigned seed = 1; seed <= 50'000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        story{seed}.play();
        if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace holdfast::engine
