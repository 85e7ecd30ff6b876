#include "base/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace holdfast::base {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using std::chrono::milliseconds;

// --- printable --------------------------------------------------------------------------------------

TEST(printable, keeps_readable_text) {
    EXPECT_EQ(printable("stock:42"), "stock:42");
    EXPECT_EQ(printable("prüfung €5 😀"), "prüfung €5 😀");
    EXPECT_EQ(printable(""), "");
}

TEST(printable, escapes_control_characters) {
    EXPECT_EQ(printable("a\nb\r\t"), R"(a\x0ab\x0d\x09)");
    EXPECT_EQ(printable("\x1b[2J"), R"(\x1b[2J)");
    EXPECT_EQ(printable("a\0b"s), R"(a\x00b)");
    EXPECT_EQ(printable("\x7f"), R"(\x7f)");
    EXPECT_EQ(printable("\xc2\x9b"
                        "2J"),
              R"(\xc2\x9b2J)");                    // CSI in its C1 form
    EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");  // the first character that is not a control
}

TEST(printable, escapes_the_backslash) {
    EXPECT_EQ(printable("\\x0a"), R"(\\x0a)");
    EXPECT_NE(printable("\\x0a"), printable("\n"));
}

TEST(printable, escapes_invalid_utf8) {
    EXPECT_EQ(printable("\xff"), R"(\xff)");
    EXPECT_EQ(printable("\xc3"), R"(\xc3)");                          // cut short
    EXPECT_EQ(printable("\xc0\xaf"), R"(\xc0\xaf)");                  // overlong
    EXPECT_EQ(printable("\xe0\x80\x80"), R"(\xe0\x80\x80)");          // overlong
    EXPECT_EQ(printable("\xed\xa0\x80"), R"(\xed\xa0\x80)");          // a surrogate
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), R"(\xf4\x90\x80\x80)");  // beyond Unicode
    EXPECT_EQ(printable("\xe2\x82z"), R"(\xe2\x82z)");
}

TEST(printable, escapes_invisible_characters_and_bidirectional_controls) {
    EXPECT_EQ(printable("pay\xe2\x80\xae"
                        "lruc"),
              R"(pay\xe2\x80\xaelruc)");              // RIGHT-TO-LEFT OVERRIDE
    EXPECT_EQ(printable("\xc2\xad"), R"(\xc2\xad)");  // SOFT HYPHEN
    for (const char32_t c : {0x61c, 0x180e, 0x200b, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060, 0x2064,
                             0x2066, 0x2069, 0xfeff, 0xfff9, 0x110bd, 0x1d173, 0xe0001, 0xe007f}) {
        EXPECT_TRUE(is_invisible(c)) << std::hex << static_cast<unsigned>(c);
    }
    for (const char32_t c :
         {0x20, 0xa0, 0xac, 0xae, 0x200a, 0x2010, 0x2027, 0x202f, 0x205f, 0x2070, 0xfefe, 0xff00, 0x1f600})
        EXPECT_FALSE(is_invisible(c)) << std::hex << static_cast<unsigned>(c);
}

TEST(without_controls, keeps_printable_text_and_backslashes) {
    EXPECT_EQ(without_controls("\"" + printable("a\\b\x1b\xe2\x80\xae") + "\""), R"("a\\b\x1b\xe2\x80\xae")");
    EXPECT_EQ(without_controls("prüfung \\ \x1b[2J\n"), R"(prüfung \ \x1b[2J\x0a)");
    const auto once = without_controls("\xe2\x80\xae\xff\\");
    EXPECT_EQ(without_controls(once), once);
}

TEST(json_without_controls, escapes_controls_as_json_does) {
    EXPECT_EQ(json_without_controls("[\"a\xe2\x80\xae\xc2\x9b\x7f\xf3\xa0\x81\x81é\"]\n"),
              "[\"a\\u202e\\u009b\\u007f\\udb40\\udc41é\"]\n");
}

TEST(printable, prints_no_control_characters_for_random_bytes) {
    std::mt19937 random{1};
    for (int round = 0; round < 5'000; ++round) {
        std::string bytes(random() % 12, '\0');
        for (auto& c : bytes) c = static_cast<char>(random());
        const auto text = printable(bytes);
        EXPECT_TRUE(std::none_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
    }
}

// --- durations --------------------------------------------------------------------------------------

struct spelling {
    std::string_view text;
    std::optional<milliseconds> means;
};

TEST(durations, are_parsed) {
    for (const auto& [text, means] : {
             spelling{"250ms", 250ms},
             spelling{"2s", 2s},
             spelling{"1m30s", 90s},
             spelling{"1h", 1h},
             spelling{"1d", 24h},
             spelling{"1d2h3m4s5ms", 24h + 2h + 3min + 4s + 5ms},
             spelling{"1h5ms", 1h + 5ms},
             spelling{"0", 0ms},
             spelling{"0s", 0ms},
             spelling{"007s", 7s},
             spelling{"90s", 90s},
             spelling{"9223372036854775807ms", milliseconds::max()},
         }) {
        EXPECT_EQ(parse_duration(text), means) << text;
    }
}

TEST(durations, reject_invalid_text) {
    for (const std::string_view text : {"",
                                        "5",
                                        "s",
                                        "ms",
                                        "-1s",
                                        "-0",
                                        "+1s",
                                        "1s1m",
                                        "1m1m",
                                        "1ms1s",
                                        "1 s",
                                        " 1s",
                                        "1s ",
                                        "1.5s",
                                        "1e3s",
                                        "1S",
                                        "1min",
                                        "1us",
                                        "0x1s",
                                        "1s5",
                                        "s1",
                                        "00",
                                        "1m-30s",
                                        "9223372036854775808ms",
                                        "9223372036854776s",
                                        "106751991168d",
                                        "99999999999999999999s"}) {
        EXPECT_EQ(parse_duration(text), std::nullopt) << text;
    }
    EXPECT_EQ(parse_duration("1s\0"s), std::nullopt);
}

TEST(durations, error_says_that_the_unit_is_missing) {
    EXPECT_EQ(why_no_duration("5"), "has no unit; a duration is written 250ms, 2s or 1m30s");
    for (const auto* const text : {"", "five", "5 s", "-5", "1.5"})
        EXPECT_EQ(why_no_duration(text), "is not a duration such as 250ms, 2s or 1m30s") << text;
}

TEST(durations, are_written_in_a_form_that_parses_back) {
    EXPECT_EQ(to_text(0ms), "0s");
    EXPECT_EQ(to_text(90s), "1m30s");
    EXPECT_EQ(to_text(24h), "1d");
    EXPECT_EQ(to_text(-1500ms), "-1s500ms");
    EXPECT_FALSE(to_text(milliseconds::min()).empty());
    for (const auto d : {1ms, 999ms, 1001ms, 61'000ms, 3'600'001ms, 90'061'001ms, milliseconds::max()}) {
        EXPECT_EQ(parse_duration(to_text(d)), d) << d.count();
    }
}

// --- glob -------------------------------------------------------------------------------------------

TEST(glob, star_matches_any_bytes_and_question_mark_matches_one) {
    EXPECT_TRUE(glob_match("*", ""));
    EXPECT_TRUE(glob_match("*", "anything"));
    EXPECT_TRUE(glob_match("stock:*", "stock:42"));
    EXPECT_TRUE(glob_match("*:42", "stock:42"));
    EXPECT_TRUE(glob_match("s*k:*2", "stock:42"));
    EXPECT_TRUE(glob_match("**", "x"));
    EXPECT_TRUE(glob_match("st?ck", "stock"));
    EXPECT_TRUE(glob_match("a*b*c", "a-b-b-c"));
    EXPECT_FALSE(glob_match("st?ck", "stck"));
    EXPECT_FALSE(glob_match("stock", "stock:42"));
    EXPECT_FALSE(glob_match("?", ""));
    EXPECT_FALSE(glob_match("", "x"));
    EXPECT_FALSE(glob_match("a*b", "a-b-c"));
}

TEST(glob, takes_all_other_characters_literally) {
    EXPECT_TRUE(glob_match("[ab]", "[ab]"));
    EXPECT_FALSE(glob_match("[ab]", "a"));
    EXPECT_TRUE(glob_match("\\*", "\\anything"));
    EXPECT_TRUE(glob_match("a?c"s, "a\0c"s));
}

TEST(glob, is_fast_for_a_malicious_pattern) {
    const std::string text(1'000, 'a');
    std::string pattern;
    for (int i = 0; i < 200; ++i) pattern += "a*";
    EXPECT_FALSE(glob_match(pattern + "b", text));
}

}  // namespace
}  // namespace holdfast::base
