#include "fallback/document.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::fallback {
namespace {

document good(std::string_view text, std::optional<std::uint64_t> last = {}) {
    const auto read = read_document(text, last);
    const auto* const no = std::get_if<bad_document>(&read);
    EXPECT_EQ(no, nullptr) << (no != nullptr ? no->field + " " + no->why : "");
    return no == nullptr ? std::get<document>(read) : document{};
}
std::string fault(std::string_view text, std::optional<std::uint64_t> last = {}) {
    const auto read = read_document(text, last);
    const auto* const no = std::get_if<bad_document>(&read);
    return no == nullptr ? "good" : no->field + '|' + no->why;
}

TEST(switch_document, is_read_as_a_whole) {
    const auto d = good(R"({"holdfast": 1, "serial": 42, "by": "li", "reason": "redis upgrade",
        "groups": {"default": {"mode": "fallback"}, "shop": {"mode": "redis"}}, "breaker": {"forced": "open"}})");
    EXPECT_EQ(d.serial, 42U);
    EXPECT_EQ(d.by, "li");
    EXPECT_EQ(d.reason, "redis upgrade");
    EXPECT_EQ(d.groups.at("default"), mode::fallback);
    EXPECT_EQ(d.groups.at("shop"), mode::store);
    EXPECT_EQ(d.breaker, forced_breaker::open);
}

TEST(switch_document, may_be_the_property_of_the_article) {
    EXPECT_EQ(good("distributed.lock.use-redis=false").groups.at("default"), mode::fallback);
    EXPECT_EQ(good("# redis is down\nserver.port = 80\n distributed.lock.use-redis = true \r\n")
                  .groups.at("default"),
              mode::store);
    EXPECT_EQ(good("distributed.lock.use-redis: false\n").groups.at("default"), mode::fallback);
    EXPECT_EQ(good(R"({"distributed.lock.use-redis": false, "other": 1})").groups.at("default"),
              mode::fallback);
}

TEST(switch_document, names_the_field_that_is_wrong_and_never_its_text) {
    const std::string secret = "hunter2";
    for (const auto& [text, field] : std::vector<std::pair<std::string, std::string>>{
             {R"({"holdfast": 2, "serial": 1})", "holdfast|"},
             {R"({"serial": 1})", "holdfast|"},
             {R"({"holdfast": 1})", "serial|"},
             {R"({"holdfast": 1, "serial": "hunter2"})", "serial|"},
             {R"({"holdfast": 1, "serial": -1})", "serial|"},
             {R"({"holdfast": 1, "serial": 1, "by": 7})", "by|"},
             {R"({"holdfast": 1, "serial": 1, "hunter2": 7})", "|has a key"},
             {R"({"holdfast": 1, "serial": 1, "groups": []})", "groups|"},
             {R"({"holdfast": 1, "serial": 1, "groups": {"a": {}}})", "groups.a.mode|"},
             {R"({"holdfast": 1, "serial": 1, "groups": {"a": {"mode": "hunter2"}}})",
              "groups.a.mode|must be one of"},
             {R"({"holdfast": 1, "serial": 1, "groups": {"a": {"mode": "joint"}}})",
              "groups.a.mode|must be one of"},
             {R"({"holdfast": 1, "serial": 1, "groups": {"a": {"mode": "redis", "x": 1}}})", "groups.a|"},
             {R"({"holdfast": 1, "serial": 1, "breaker": {"forced": true}})", "breaker.forced|"},
             {R"({"holdfast": 1, "serial": 1, "breaker": 1})", "breaker|"},
             {R"({"distributed.lock.use-redis": "false"})", "distributed.lock.use-redis|"},
             {"distributed.lock.use-redis=hunter2", "distributed.lock.use-redis|"},
             {"distributed.lock.use-redis=\n", "distributed.lock.use-redis|"},
             {"distributed.lock.use-redis=true\ndistributed.lock.use-redis=false",
              "distributed.lock.use-redis|is set"},
             {"hunter2", "|has neither"},
             {"", "|is empty"},
             {" \n", "|is empty"},
             {"{hunter2", "|is no JSON"},
             {"[1]", "|has neither"},
             {std::string(70'000, 'x'), "|is larger"}}) {
        const auto found = fault(text);
        EXPECT_TRUE(found.starts_with(field)) << text.substr(0, 80) << " -> " << found;
        EXPECT_EQ(found.find(secret), std::string::npos) << found;
    }
}

TEST(switch_document, must_not_be_older_than_the_last) {
    const std::string text = R"({"holdfast": 1, "serial": 7})";
    EXPECT_EQ(good(text, 7).serial, 7U) << "the same is read again after a restart of its source";
    EXPECT_EQ(fault(text, 8), "serial|is lower than in the last document");
}

}  // namespace
}  // namespace holdfast::fallback
