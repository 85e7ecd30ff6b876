#include <holdfast/error.hpp>
#include <holdfast/types.hpp>

#include <gtest/gtest.h>

#include <array>

namespace holdfast {
namespace {

using namespace std::string_literals;

std::error_code code_of_naming(std::string_view bytes) {
    try {
        const lock_name name{bytes};
        EXPECT_EQ(name.str(), bytes);
        return {};
    } catch (const error& e) {
        return e.code();
    }
}

TEST(a_lock_name, has_one_to_1024_bytes) {
    EXPECT_EQ(code_of_naming(""), errc::invalid_argument);
    EXPECT_EQ(code_of_naming("x"), std::error_code{});
    EXPECT_EQ(code_of_naming(std::string(1024, 'x')), std::error_code{});
    EXPECT_EQ(code_of_naming(std::string(1025, 'x')), errc::invalid_argument);
}

TEST(a_lock_name, may_be_any_bytes_and_keeps_them) {
    EXPECT_EQ(code_of_naming("a\0b\r\n\xff{}"s), std::error_code{});
    EXPECT_EQ(lock_name("a\0b"s).printable(), R"(a\x00b)");
}

TEST(a_lock_name, that_is_too_long_is_named_in_the_complaint_without_being_repeated) {
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
    meaning{errc::quarantined, condition::try_later},
    meaning{errc::unknown_outcome, condition::unknown},
    meaning{errc::bad_reply, condition::unknown},
    meaning{errc::lost, condition::not_held},
    meaning{errc::lease_too_short, condition::not_held},
    meaning{errc::timed_out, condition::not_held},
    meaning{errc::cancelled, condition::not_held},
};

TEST(an_error_code, says_what_a_caller_can_do_and_nothing_else) {
    for (const auto& m : meanings) {
        const std::error_code code = m.code;
        for (const auto c :
             {condition::misuse, condition::try_later, condition::not_held, condition::unknown}) {
            EXPECT_EQ(code == c, c == m.what_to_do) << code.message();
        }
    }
}

TEST(an_error_code, has_words) {
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

TEST(an_error, keeps_the_servers_words_apart_and_harmless) {
    const error e{errc::unavailable, "the lock \"x\" could not be acquired", "ERR \x1b[2J"};
    EXPECT_EQ(e.server_text(), R"(ERR \x1b[2J)");
    EXPECT_EQ(std::string{e.what()}.find("ERR"), std::string::npos);
    EXPECT_EQ(e.code(), errc::unavailable);
}

}  // namespace
}  // namespace holdfast
