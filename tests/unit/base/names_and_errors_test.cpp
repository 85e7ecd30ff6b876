#include <holdfast/error.hpp>
#include <holdfast/types.hpp>

#include <gtest/gtest.h>

#include <array>

namespace holdfast {
namespace {

using namespace std::string_literals;

std::error_code code_of_name(std::string_view bytes) {
    try {
        const lock_name name{bytes};
        EXPECT_EQ(name.str(), bytes);
        return {};
    } catch (const error& e) {
        return e.code();
    }
}

TEST(lock_name, has_one_to_1024_bytes) {
    EXPECT_EQ(code_of_name(""), errc::invalid_argument);
    EXPECT_EQ(code_of_name("x"), std::error_code{});
    EXPECT_EQ(code_of_name(std::string(1024, 'x')), std::error_code{});
    EXPECT_EQ(code_of_name(std::string(1025, 'x')), errc::invalid_argument);
}

TEST(lock_name, keeps_any_bytes) {
    EXPECT_EQ(code_of_name("a\0b\r\n\xff{}"s), std::error_code{});
    EXPECT_EQ(lock_name("a\0b"s).printable(), R"(a\x00b)");
}

TEST(lock_name, error_about_a_long_name_does_not_repeat_it) {
    try {
        (void)lock_name{std::string(2000, '\x1b')};
        FAIL();
    } catch (const error& e) {
        const std::string text = e.what();
        EXPECT_NE(text.find("2000"), std::string::npos);
        EXPECT_EQ(text.find('\x1b'), std::string::npos);
        EXPECT_LT(text.size(), 400U);
    }
}

struct meaning {
    errc code;
    condition what_to_do;
};
constexpr std::array meanings{
    meaning{errc::invalid_argument, condition::misuse},
    meaning{errc::would_deadlock, condition::misuse},
    meaning{errc::not_owner, condition::misuse},
    meaning{errc::wrong_kind, condition::misuse},
    meaning{errc::no_permission, condition::misuse},
    meaning{errc::forked, condition::misuse},
    meaning{errc::closed, condition::misuse},
    meaning{errc::unavailable, condition::try_later},
    meaning{errc::out_of_memory, condition::try_later},
    meaning{errc::busy_server, condition::try_later},
    meaning{errc::not_replicated, condition::try_later},
    meaning{errc::too_weak, condition::try_later},
    meaning{errc::quarantined, condition::try_later},
    meaning{errc::unknown_outcome, condition::unknown},
    meaning{errc::bad_reply, condition::unknown},
    meaning{errc::lost, condition::not_held},
    meaning{errc::lease_too_short, condition::not_held},
    meaning{errc::timed_out, condition::not_held},
    meaning{errc::cancelled, condition::not_held},
};

TEST(error_code, has_exactly_one_condition) {
    for (const auto& m : meanings) {
        const std::error_code code = m.code;
        for (const auto c :
             {condition::misuse, condition::try_later, condition::not_held, condition::unknown}) {
            EXPECT_EQ(code == c, c == m.what_to_do) << code.message();
        }
    }
}

TEST(error_code, has_a_message) {
    for (const auto& m : meanings) {
        const std::error_code code = m.code;
        EXPECT_TRUE(code);
        EXPECT_STREQ(code.category().name(), "holdfast");
        EXPECT_EQ(code.message().find("unknown error"), std::string::npos);
    }
    EXPECT_EQ(meanings.size(), static_cast<std::size_t>(errc::bad_reply))
        << "an errc is missing in this table";
    EXPECT_NE((std::error_code{999, category()}.message().find("999")), std::string::npos);
}

TEST(error, keeps_the_server_text_apart_and_escaped) {
    const error e{errc::unavailable, "the lock \"x\" could not be acquired", "ERR \x1b[2J"};
    EXPECT_EQ(e.server_text(), R"(ERR \x1b[2J)");
    EXPECT_EQ(std::string{e.what()}.find("ERR"), std::string::npos);
    EXPECT_EQ(e.code(), errc::unavailable);
}

}  // namespace
}  // namespace holdfast
