#include "redis/protocol/errors.hpp"

#include <holdfast/error.hpp>

#include <gtest/gtest.h>

namespace holdfast::redis {
namespace {

TEST(errors, every_text_of_a_server_has_its_code) {
    const struct {
        std::string_view text;
        errc code;
    } table[] = {
        {"LOADING Redis is loading the dataset in memory", errc::busy_server},
        {"READONLY You can't write against a read only replica.", errc::busy_server},
        {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
         errc::busy_server},
        {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
         errc::busy_server},
        {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
         errc::busy_server},
        {"TRYAGAIN Multiple keys request during rehashing of slot", errc::busy_server},
        {"CLUSTERDOWN The cluster is down", errc::busy_server},
        {"ERR Script attempted to access a non local key in a cluster node script: 1f, on @user_script:1.",
         errc::unknown_outcome},
        {"MOVED 3999 127.0.0.1:6381", errc::invalid_argument},
        {"NOREPLICAS Not enough good replicas to write.", errc::busy_server},
        {"OOM command not allowed when used memory > 'maxmemory'.", errc::out_of_memory},
        {"OOM command not allowed when used memory > 'maxmemory'. script: 1f, on @user_script:1.",
         errc::out_of_memory},
        {"ERR Error running script (call to f_1f): @user_script:1: -OOM command not allowed when used memory "
         "> 'maxmemory'.",
         errc::out_of_memory},
        {"ERR Error running script (call to f_1f): @user_script:1: @user_script: 1: -READONLY You can't "
         "write",
         errc::busy_server},
        {"ERR Error running script (call to f_1f): @user_script:1: WRONGTYPE Operation against a key",
         errc::wrong_kind},
        {"NOPERM this user has no permissions to run the 'set' command", errc::no_permission},
        {"ERR The user executing the script can't run this command or subcommand script: 1f, on "
         "@user_script:1.",
         errc::no_permission},
        {"NOAUTH Authentication required.", errc::no_permission},
        {"WRONGPASS invalid username-password pair or user is disabled.", errc::no_permission},
        {"ERR invalid password", errc::no_permission},
        {"ERR AUTH <password> called without any password configured for the default user. Are you sure?",
         errc::no_permission},
        {"ERR Client sent AUTH, but no password is set", errc::no_permission},
        {"DENIED Redis is running in protected mode", errc::no_permission},
        {"WRONGTYPE Operation against a key holding the wrong kind of value", errc::wrong_kind},
        {"WRONGTYPE Operation against a key holding the wrong kind of value script: 1f, on @user_script:1.",
         errc::wrong_kind},
        {"ERR ACL failure in script: User t has no permissions to run the 'time' command script: 1f, on "
         "@user_script:1.",
         errc::no_permission},
        {"ERR ACL failure in script: No permissions to access a key script: 1f, on @user_script:1.",
         errc::no_permission},
        {"@user_script: 18: -OOM command not allowed when used memory > 'maxmemory'.", errc::out_of_memory},
        {"ERR unknown command 'FOO'", errc::invalid_argument},
        {"ERR Error running script (call to f_1): @user_script:1: @user_script: 1: Unknown Redis command "
         "called "
         "from Lua script",
         errc::invalid_argument},
        {"ERR Unknown Redis command called from script script: 1f, on @user_script:1.",
         errc::invalid_argument},
        {"ERR value is OOM or not an integer", errc::bad_reply},
        {"BUSYGROUP Consumer Group name already exists", errc::bad_reply},
        {"", errc::bad_reply},
        {"ERR Error running script @user_script", errc::bad_reply},
        {"ERR Error running script @user_script:", errc::bad_reply},
        {"ERR Error running script @user_script:1:", errc::bad_reply},
    };
    for (const auto& row : table) EXPECT_EQ(classify(row.text), make_error_code(row.code)) << row.text;
}

TEST(errors, missing_script_and_replica_are_distinguished) {
    EXPECT_TRUE(is_noscript("NOSCRIPT No matching script. Please use EVAL."));
    EXPECT_FALSE(is_noscript("ERR NOSCRIPT"));
    EXPECT_TRUE(is_readonly("READONLY You can't write against a read only replica."));
    EXPECT_TRUE(
        is_readonly("ERR Error running script (call to f_1f): @user_script:1: -READONLY You can't write"));
    EXPECT_FALSE(is_readonly("ERR key READONLY"));
}

}  // namespace
}  // namespace holdfast::redis
