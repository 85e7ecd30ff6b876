#include "backends/redis/wire/reply_mapping.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis_backend {
namespace {

backend::attempt_answer answer_to(std::string error) {
    const redis::outcome o{redis::reply::of_error(std::move(error))};
    return without_reply<backend::attempt_answer>(o).value_or(backend::granted{});
}

TEST(server_error, is_a_refusal) {
    for (const auto* text : {"TRYAGAIN Multiple keys request during rehashing of slot",
                             "OOM command not allowed when used memory > 'maxmemory'.",
                             "NOPERM this user has no permissions to run the 'eval' command"})
        EXPECT_TRUE(std::holds_alternative<backend::refused>(answer_to(text))) << text;
}

TEST(server_error, about_a_moving_slot_asks_for_a_retry) {
    const auto no = [](const char* text) { return std::get<backend::refused>(answer_to(text)).look_again; };
    EXPECT_GT(no("TRYAGAIN Multiple keys request during rehashing of slot"), std::chrono::milliseconds{0});
    EXPECT_EQ(no("OOM command not allowed when used memory > 'maxmemory'."), std::nullopt);
}

// The release may have been carried out.
TEST(server_error, about_an_interrupted_script_leaves_the_outcome_unknown) {
    const auto answer = answer_to(
        "ERR Script attempted to access a non local key in a cluster node script: 1f, on @user_script:18.");
    const auto* unknown = std::get_if<backend::unknown>(&answer);
    ASSERT_NE(unknown, nullptr);
    EXPECT_EQ(unknown->code, errc::unknown_outcome);
}

}  // namespace
}  // namespace holdfast::redis_backend
