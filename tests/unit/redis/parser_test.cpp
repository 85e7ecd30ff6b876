#include "redis/protocol/reply.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::redis {
namespace {

using result = parser::result;

reply whole(std::string_view bytes) {
    parser p;
    p.feed(bytes);
    reply r;
    EXPECT_EQ(p.next(r), result::got) << p.error_text();
    return r;
}

// The parser's error for bytes that are not a reply.
std::string error_for(std::string_view bytes, const size_caps& caps = {}) {
    parser p{caps};
    p.feed(bytes);
    reply r;
    EXPECT_EQ(p.next(r), result::error);
    EXPECT_EQ(p.next(r), result::error) << "an error is permanent";
    return p.error_text();
}

TEST(parser, reads_every_type) {
    EXPECT_EQ(whole("+OK\r\n"), reply::of(std::string{"OK"}));
    EXPECT_EQ(whole(":-42\r\n"), reply::of(std::int64_t{-42}));
    EXPECT_EQ(whole("$5\r\nhe\r\no\r\n"), reply::of(std::string{"he\r\no"}));
    EXPECT_EQ(whole("$0\r\n\r\n"), reply::of(std::string{}));
    EXPECT_EQ(whole("-ERR no\r\n"), reply::of_error("ERR no"));
    EXPECT_TRUE(whole("$-1\r\n").is_nil());
    EXPECT_TRUE(whole("*-1\r\n").is_nil());
    EXPECT_EQ(whole("*0\r\n"), reply::of(std::vector<reply>{}));
}

TEST(parser, builds_nested_arrays_in_order) {
    const auto r = whole("*4\r\n:1\r\n*2\r\n$1\r\na\r\n$-1\r\n*0\r\n+z\r\n");
    ASSERT_EQ(r.items().size(), 4u);
    EXPECT_EQ(r.items()[0].integer(), 1);
    ASSERT_EQ(r.items()[1].items().size(), 2u);
    EXPECT_EQ(r.items()[1].items()[0].text(), "a");
    EXPECT_TRUE(r.items()[1].items()[1].is_nil());
    EXPECT_TRUE(r.items()[2].is_array());
    EXPECT_EQ(r.items()[3].text(), "z");
}

TEST(parser, an_array_longer_than_its_first_reservation_keeps_its_elements) {
    std::string bytes = "*500\r\n";
    for (int i = 0; i < 500; ++i) bytes += "*1\r\n:" + std::to_string(i) + "\r\n";
    const auto r = whole(bytes);
    ASSERT_EQ(r.items().size(), 500u);
    for (int i = 0; i < 500; ++i) EXPECT_EQ(r.items()[static_cast<std::size_t>(i)].items()[0].integer(), i);
}

TEST(parser, gives_the_same_replies_however_the_bytes_are_split) {
    const std::string bytes =
        "+OK\r\n*3\r\n$3\r\nfoo\r\n:7\r\n*1\r\n$-1\r\n-ERR x\r\n$20\r\n01234567890123456789\r\n:1\r\n";
    std::vector<reply> expected;
    {
        parser p;
        p.feed(bytes);
        for (reply r; p.next(r) == result::got;) expected.push_back(std::move(r));
    }
    ASSERT_EQ(expected.size(), 5u);
    for (std::size_t first = 0; first <= bytes.size(); ++first) {
        for (std::size_t second = first; second <= bytes.size(); ++second) {
            parser p;
            std::vector<reply> got;
            const auto take = [&](std::string_view part) {
                p.feed(part);
                for (reply r; p.next(r) == result::got;) got.push_back(std::move(r));
            };
            const std::string_view all = bytes;
            take(all.substr(0, first));
            take(all.substr(first, second - first));
            take(all.substr(second));
            ASSERT_EQ(got, expected) << "split at " << first << " and " << second << ": " << p.error_text();
        }
    }
}

TEST(parser, gives_the_same_replies_byte_by_byte) {
    parser p;
    std::vector<reply> got;
    for (const char c : std::string{"*2\r\n$4\r\nabcd\r\n+e\r\n:5\r\n"}) {
        p.feed({&c, 1});
        for (reply r; p.next(r) == result::got;) got.push_back(std::move(r));
    }
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[0].items()[0].text(), "abcd");
    EXPECT_EQ(got[1].integer(), 5);
}

TEST(parser, rejects_an_array_above_the_cap) {
    EXPECT_EQ(error_for("*2147483647\r\n"), "an array of more elements than we take");
    EXPECT_EQ(error_for("*1048577\r\n"), "an array of more elements than we take");
    EXPECT_NE(error_for("*9999999999999\r\n"), "");
}

TEST(parser, counts_elements_over_the_whole_reply) {
    size_caps caps;
    caps.elements = 10;
    EXPECT_NE(error_for("*2\r\n*6\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n*6\r\n", caps), "");
    parser p{caps};
    reply r;
    for (int i = 0; i < 5; ++i) {  // but not over several
        p.feed("*3\r\n:1\r\n:2\r\n:3\r\n");
        EXPECT_EQ(p.next(r), result::got);
    }
}

TEST(parser, waits_for_announced_elements) {
    parser p;
    p.feed("*1000000\r\n:1\r\n");  // within the cap; memory for two elements, not for a million: see the caps
    reply r;
    EXPECT_EQ(p.next(r), result::need_more);
}

TEST(parser, rejects_a_string_above_the_cap_before_its_bytes_arrive) {
    EXPECT_EQ(error_for("$9999999999\r\n"), "a string longer than we take");
    EXPECT_EQ(error_for("*1\r\n$67108865\r\n"), "a string longer than we take");
    size_caps caps;
    caps.bulk_bytes = 4;
    EXPECT_NE(error_for("$5\r\nab", caps), "");
    parser p{caps};
    p.feed("$4\r\nab");
    reply r;
    EXPECT_EQ(p.next(r), result::need_more);
}

TEST(parser, rejects_deep_nesting) {
    std::string bytes;
    for (int i = 0; i < 100; ++i) bytes += "*1\r\n";
    EXPECT_NE(error_for(bytes), "");
}

TEST(parser, rejects_an_endless_line) {
    EXPECT_NE(error_for("+" + std::string(100'000, 'x')), "");
    EXPECT_NE(error_for("$" + std::string(100'000, '1')), "");
}

TEST(parser, rejects_other_protocols) {
    EXPECT_NE(error_for("HTTP/1.1 400 Bad Request\r\n"), "");
    EXPECT_NE(error_for("%1\r\n+a\r\n+b\r\n"), "");
    EXPECT_NE(error_for("$-2\r\n"), "");
}

}  // namespace
}  // namespace holdfast::redis
