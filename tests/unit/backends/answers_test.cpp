#include "backends/redis/answers.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis_backend {
namespace {

backend::attempt_answer said(std::string error) {
    const redis::outcome o{redis::reply::of_error(std::move(error))};
    return without_reply<backend::attempt_answer>(o).value_or(backend::granted{});
}

TEST(an_error, says_that_nothing_was_done) {
    for (const auto* text : {"TRYAGAIN Multiple keys request during rehashing of slot",
                             "OOM command not allowed when used memory > 'maxmemory'.",
                             "NOPERM this user has no permissions to run the 'eval' command"})
        EXPECT_TRUE(std::holds_alternative<backend::refused>(said(text))) << text;
}

TEST(an_error, of_a_slot_that_moves_is_worth_waiting_for) {
    const auto no = [](const char* text) { return std::get<backend::refused>(said(text)).look_again; };
    EXPECT_GT(no("TRYAGAIN Multiple keys request during rehashing of slot"), std::chrono::milliseconds{0});
    EXPECT_EQ(no("OOM command not allowed when used memory > 'maxmemory'."), std::nullopt);
}

// It may be told of a release that was carried out.
TEST(an_error, of_a_script_that_was_ended_in_its_midst_says_nothing_of_what_was_done) {
    const auto answer = said(
        "ERR Script attempted to access a non local key in a cluster node script: 1f, on @user_script:18.");
    const auto* unknown = std::get_if<backend::unknown>(&answer);
    ASSERT_NE(unknown, nullptr);
    EXPECT_EQ(unknown->code, errc::unknown_outcome);
}

}  // namespace
}  // namespace holdfast::redis_backend
