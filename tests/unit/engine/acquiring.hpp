// An acquisition in virtual time: what the store, the network and the caller do, and what the machine does
// next.
#pragma once

#include "engine/acquire.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace holdfast::engine {

using namespace std::chrono_literals;
using backend::intent;

class acquiring : public ::testing::Test {
  protected:
    acquire_settings how;
    const time_point start{1h};
    time_point now = start;

    // --- what happens ---------------------------------------------------------------------------
    void begin() {
        machine_.emplace(how);
        feed(begun{});
    }
    void later_by(milliseconds d) { now += d; }

    void store_grants(fence with = fence::none) { answer(backend::granted{how.lease, with}); }
    void store_grants_only(milliseconds lease) { answer(backend::granted{lease}); }
    void store_grants_with_acks(std::uint32_t acks) {
        answer(backend::granted{how.lease, fence::none, false, acks});
    }
    void store_says_busy() { answer(backend::busy{"somebody", std::nullopt, {}, {}}); }
    void store_says_busy_for(milliseconds look_again) {
        answer(backend::busy{"somebody", look_again, {}, {}});
    }
    void store_queues_us(std::string ticket) {
        answer(backend::busy{"somebody", std::nullopt, std::move(ticket), 3s});
    }
    void store_refuses(errc why) { answer(backend::refused{{make_error_code(why), "server text"}}); }
    void store_will_be_able_in(milliseconds left) {
        answer(backend::refused{{make_error_code(errc::unavailable), "server text"}, left});
    }
    void answer_is_lost() { answer(backend::unknown{{make_error_code(errc::unknown_outcome), {}}}); }
    void late_answer(unsigned number, backend::attempt_answer a) { feed(answered{number, std::move(a)}); }

    void watch_is(backend::watch_event::change what) { feed(watched{{what, {}}}); }
    void watch_begins() { watch_is(backend::watch_event::change::watching); }
    void watch_breaks() { watch_is(backend::watch_event::change::broken); }
    void watch_is_refused() { watch_is(backend::watch_event::change::refused); }
    void woken() { woken_with({}); }
    void woken_with(std::string ticket) {
        feed(watched{{backend::watch_event::change::woken, {std::move(ticket)}}});
    }

    void alarm_rings() { feed(elapsed{}); }
    void time_comes() {
        now = until();
        alarm_rings();
    }
    void nobody_answers() { time_comes(); }
    void caller_cancels() { feed(cancelled{}); }

    // The usual way into a wait: look, find it busy, listen, join the queue.
    void wait_in_queue_with(const std::string& ticket) {
        begin();
        store_says_busy();
        watch_begins();
        store_queues_us(ticket);
        ASSERT_TRUE(is_waiting());
    }

    // --- what is wanted -------------------------------------------------------------------------
    [[nodiscard]] bool is_asking(intent want) const {
        const auto* a = std::get_if<send_attempt>(&last_);
        return a != nullptr && a->want == want;
    }
    [[nodiscard]] bool is_listening() const { return std::holds_alternative<listen>(last_); }
    [[nodiscard]] bool is_waiting() const { return std::holds_alternative<wait>(last_); }
    [[nodiscard]] unsigned asked() const { return number_; }

    [[nodiscard]] time_point until() const {
        if (const auto* a = std::get_if<send_attempt>(&last_)) return a->until;
        if (const auto* l = std::get_if<listen>(&last_)) return l->until;
        if (const auto* w = std::get_if<wait>(&last_)) return w->until;
        ADD_FAILURE() << "the machine has stopped and names no time";
        return time_point::max();
    }
    [[nodiscard]] hold_it granted() const {
        const auto* h = std::get_if<hold_it>(&last_);
        if (h == nullptr) ADD_FAILURE() << "not granted; action " << last_.index();
        return h != nullptr ? *h : hold_it{};
    }
    [[nodiscard]] give_up gave_up() const {
        const auto* g = std::get_if<give_up>(&last_);
        if (g == nullptr) ADD_FAILURE() << "not given up; action " << last_.index();
        return g != nullptr ? *g : give_up{};
    }
    [[nodiscard]] bool holds() const { return std::holds_alternative<hold_it>(last_); }
    [[nodiscard]] bool stopped() const { return holds() || std::holds_alternative<give_up>(last_); }

  private:
    void answer(backend::attempt_answer a) { feed(answered{number_, std::move(a)}); }
    void feed(acquire_event e) {
        last_ = machine_->resume(std::move(e), now);
        if (const auto* a = std::get_if<send_attempt>(&last_)) number_ = a->number;
    }

    std::optional<acquire> machine_;
    acquire_action last_ = wait{};
    unsigned number_ = 0;
};

}  // namespace holdfast::engine
