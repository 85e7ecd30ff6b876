#include "engine/release.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

class releasing : public ::testing::Test {
  protected:
    const time_point start{1h};
    time_point now = start;
    release_settings how{start + 10s, 2s};

    void begin() {
        machine_.emplace(how);
        last_ = machine_->begin(now);
    }
    void later_by(milliseconds d) { now += d; }
    void store_releases(bool handed_over = false) { answer(backend::released{3, handed_over}); }
    void store_says_not_held() { answer(backend::not_held{}); }
    void store_refuses(errc why) { answer(backend::refused{{make_error_code(why), "server text"}}); }
    void answer_is_lost() { answer(backend::unknown{{make_error_code(errc::unavailable), {}}}); }
    void nobody_answers() {
        now = std::get<send_release>(last_).until;
        last_ = machine_->on_elapsed(now);
    }
    void pause_is_over() {
        now = std::get<retry_release>(last_).at;
        last_ = machine_->begin(now);
    }

    [[nodiscard]] bool is_sending() const { return std::holds_alternative<send_release>(last_); }
    [[nodiscard]] bool is_pausing() const { return std::holds_alternative<retry_release>(last_); }
    [[nodiscard]] bool is_done() const { return std::holds_alternative<release_done>(last_); }
    [[nodiscard]] release_done end() const {
        if (!is_done()) ADD_FAILURE() << "not done; action " << last_.index();
        return is_done() ? std::get<release_done>(last_) : release_done{};
    }

  private:
    void answer(const backend::release_answer& a) { last_ = machine_->on_answer(a, now); }

    std::optional<release> machine_;
    release_action last_ = send_release{};
};

TEST_F(releasing, takes_one_request_and_one_answer) {
    begin();
    EXPECT_TRUE(is_sending());
    store_releases(true);
    EXPECT_TRUE(end().result);
    EXPECT_TRUE(end().answer.handed_over);
    EXPECT_EQ(end().answer.listeners, 3U);
}

TEST_F(releasing, not_held_means_lost_before) {
    begin();
    store_says_not_held();
    EXPECT_EQ(end().result, release_outcome::already_lost);
}

TEST_F(releasing, not_held_after_an_unanswered_send_counts_as_released) {
    begin();
    answer_is_lost();
    pause_is_over();
    store_says_not_held();
    EXPECT_EQ(end().result, release_outcome::released);
}

TEST_F(releasing, not_held_after_an_unanswered_send_of_an_expired_lease_is_a_loss) {
    how.believed_until = start;
    begin();
    answer_is_lost();
    pause_is_over();
    store_says_not_held();
    EXPECT_EQ(end().result, release_outcome::already_lost);
}

TEST_F(releasing, not_held_after_a_refusal_is_a_loss) {
    begin();
    store_refuses(errc::unavailable);  // the request was never sent
    pause_is_over();
    store_says_not_held();
    EXPECT_EQ(end().result, release_outcome::already_lost);
}

TEST_F(releasing, is_retried_with_growing_pauses) {
    begin();
    store_refuses(errc::unavailable);
    ASSERT_TRUE(is_pausing());
    pause_is_over();
    EXPECT_EQ(now, start + 20ms);
    store_refuses(errc::busy_server);
    pause_is_over();
    EXPECT_EQ(now, start + 60ms);
    store_releases();
    EXPECT_TRUE(end().result);
}

TEST_F(releasing, blocks_no_longer_than_one_answer_timeout) {
    begin();
    for (int step = 0; step < 100 && !is_done(); ++step) {
        if (is_pausing())
            pause_is_over();
        else if (now < start + 1900ms)
            store_refuses(errc::unavailable);
        else
            nobody_answers();
    }
    EXPECT_EQ(end().result, release_outcome::unknown_until);
    EXPECT_LE(now, start + how.answer_timeout);
}

TEST_F(releasing, without_any_answer_ends_as_unknown) {
    begin();
    nobody_answers();
    EXPECT_EQ(end().result, release_outcome::unknown_until);
    EXPECT_EQ(end().reason.code, errc::unknown_outcome);
}

TEST_F(releasing, misuse_is_not_retried) {
    begin();
    store_refuses(errc::no_permission);
    EXPECT_EQ(end().result, release_outcome::unknown_until);
    EXPECT_EQ(end().reason.code, errc::no_permission);
    EXPECT_EQ(end().reason.text, "server text");
}

}  // namespace
}  // namespace holdfast::engine
