#include "redis/protocol/command.hpp"
#include "redis/protocol/script.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace holdfast::redis {
namespace {

TEST(command, is_an_array_of_bulk_strings) {
    std::string out;
    append_command(out, "SET", std::string_view{"k\r\n"}, std::string{"v"}, "PX", 30000);
    EXPECT_EQ(out, "*5\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$1\r\nv\r\n$2\r\nPX\r\n$5\r\n30000\r\n");
}

TEST(command, is_appended_to_the_buffer) {
    std::string out;
    append_command(out, "PING");
    append_command(out, "PING");
    EXPECT_EQ(out, "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n");
}

TEST(command, writes_the_smallest_and_largest_numbers) {
    std::string out;
    append_command(out, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(out, "*2\r\n$20\r\n-9223372036854775808\r\n$20\r\n18446744073709551615\r\n");
}

TEST(command, takes_empty_and_binary_arguments) {
    const std::string_view args[] = {"ECHO", std::string_view{"\0\xff", 2}, ""};
    std::string out;
    append_command(out, std::span<const std::string_view>{args});
    EXPECT_EQ(out, std::string_view("*3\r\n$4\r\nECHO\r\n$2\r\n\0\xff\r\n$0\r\n\r\n", 28));
}

TEST(command, an_evalsha_becomes_the_eval_of_the_same_keys_and_arguments) {
    const std::string_view keys[] = {"k1", "k2"};
    const std::string_view args[] = {"a\r\n$1"};
    std::string sha;
    append_evalsha(sha, "0123456789012345678901234567890123456789", keys, args);
    EXPECT_EQ(as_eval(sha, "return 1"),
              "*6\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n2\r\n$2\r\nk1\r\n$2\r\nk2\r\n$5\r\na\r\n$1\r\n");
}

}  // namespace
}  // namespace holdfast::redis
