// Every text of the lab has a translation; cli_lab_test checks the texts of a run.
#include "lab/language.hpp"
#include "lab/ladder.hpp"
#include "lab/schemes/schemes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace holdfast::lab {
namespace {

std::size_t placeholders_in(std::string_view text) {
    std::size_t found = 0;
    for (auto at = text.find("{}"); at != text.npos; at = text.find("{}", at + 2)) ++found;
    return found;
}

void expect_translated(std::string_view english) {
    if (english.empty()) return;
    EXPECT_TRUE(is_translated(language::chinese, english)) << english;
}

TEST(lab_language, all_rungs_and_schemes_are_translated) {
    for (const auto& rung : ladder()) {
        expect_translated(rung.line);
        expect_translated(rung.article);
        for (const auto& one : rung.schedules) {
            for (const auto text : {one.flaw, one.why, one.why_cured, one.why_ours, one.why_joint})
                expect_translated(text);
        }
    }
    for (const auto& one : all_schemes()) expect_translated(one.what);
}

TEST(lab_language, translation_has_the_placeholders_of_its_original) {
    for (const auto& one : translations_zh()) {
        EXPECT_EQ(placeholders_in(one.english), placeholders_in(one.other)) << one.english;
        EXPECT_FALSE(one.other.empty()) << one.english;
        EXPECT_EQ(std::ranges::count(translations_zh(), one.english, &translation::english), 1)
            << one.english;
    }
}

TEST(lab_language, placeholder_values_appear_in_the_translation) {
    const auto answer = in(language::chinese, "the clock of node 3 jumps by 61 s");
    EXPECT_NE(answer.find('3'), answer.npos) << answer;
    EXPECT_NE(answer.find("61"), answer.npos) << answer;
    EXPECT_EQ(answer.find("clock"), answer.npos) << answer;
}

TEST(lab_language, untranslated_text_stays_english) {
    EXPECT_EQ(in(language::chinese, "a whale"), "a whale");
    EXPECT_FALSE(is_translated(language::chinese, "a whale"));
    EXPECT_EQ(in(language::english, "a whale"), "a whale");
}

}  // namespace
}  // namespace holdfast::lab
