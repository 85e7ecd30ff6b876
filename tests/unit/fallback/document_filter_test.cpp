#include "fallback/document_filter.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <variant>

namespace holdfast::fallback {
namespace {

std::string document_of(int serial, const std::string& mode = "fallback") {
    return R"({"holdfast": 1, "serial": )" + std::to_string(serial) +
           R"(, "groups": {"default": {"mode": ")" + mode + R"("}}})";
}

std::string in_words(const std::optional<told>& news) {
    if (!news) return "nothing";
    if (const auto* const good = std::get_if<document>(&*news))
        return "serial " + std::to_string(good->serial.value_or(0));
    if (const auto* const bad = std::get_if<bad_document>(&*news)) return "bad " + bad->field;
    if (const auto* const no = std::get_if<unreadable>(&*news)) return "unreadable: " + no->why;
    return "readable";
}

class document_filter_test : public ::testing::Test {
  protected:
    std::string text(const std::string& is) { return in_words(filter.on_text(is)); }
    std::string obstacle(const std::string& why) { return in_words(filter.on_unreadable(why)); }

    document_filter filter;
};

TEST_F(document_filter_test, tells_each_thing_once) {
    EXPECT_EQ(text(document_of(1)), "serial 1");
    EXPECT_EQ(text(document_of(1)), "nothing");
    EXPECT_EQ(text("nonsense"), "bad ");
    EXPECT_EQ(text("nonsense"), "nothing");
    EXPECT_EQ(obstacle("refused"), "unreadable: refused");
    EXPECT_EQ(obstacle("refused"), "nothing");
    EXPECT_EQ(obstacle("no answer"), "unreadable: no answer");
}

TEST_F(document_filter_test, takes_no_document_that_is_older_than_the_last_good_one) {
    EXPECT_EQ(text(document_of(5)), "serial 5");
    EXPECT_EQ(text(document_of(4, "redis")), "bad serial");
    EXPECT_EQ(text("nonsense"), "bad ");
    EXPECT_EQ(text(document_of(4, "redis")), "bad serial");
    EXPECT_EQ(text(document_of(5, "redis")), "serial 5");
}

// An operator may have decided otherwise while the source was away.
TEST_F(document_filter_test, does_not_repeat_a_document_when_the_source_is_back) {
    EXPECT_EQ(text(document_of(1)), "serial 1");
    EXPECT_EQ(obstacle("refused"), "unreadable: refused");
    EXPECT_EQ(text(document_of(1)), "readable");
    EXPECT_EQ(text(document_of(1)), "nothing");
    EXPECT_EQ(obstacle("refused"), "unreadable: refused");
    EXPECT_EQ(text(document_of(2)), "serial 2");
}

}  // namespace
}  // namespace holdfast::fallback
