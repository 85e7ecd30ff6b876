// Which rights locks need, how the doctor asks for them, and how it reads the answers.
#include "backends/redis/doctor/rights.hpp"
#include "backends/redis/scripts/scripts.hpp"
#include "backends/redis/wire/acl_errors.hpp"
#include "backends/redis/wire/script_commands.hpp"
#include "backends/redlock/kinds.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::redis_backend::doctor {
namespace {

TEST(rights, every_script_command_has_an_example_call) {
    for (const auto& script : redis_scripts::all) {
        for (const auto& [command, how] : commands_of(script.text)) {
            const auto example = example_of(command, "absent", "channel");
            ASSERT_FALSE(example.empty()) << command << " of " << script.name;
            EXPECT_EQ(example.front(), command);
        }
    }
}

TEST(rights, every_command_of_a_lock_script_is_checked) {
    std::vector<std::string> asked;
    for (const auto& n : required_acls_of("job"))
        for (const auto& [command, how] : n.commands) asked.push_back(command);
    for (const auto& script : redis_scripts::all) {
        if (script.name == "peek" || script.name == "evict_ask" || script.name == "rights" ||
            script.name == "fair_queue" || script.name.ends_with("_evicting"))
            continue;  // for operators only
        for (const auto& [command, how] : commands_of(script.text))
            EXPECT_NE(std::find(asked.begin(), asked.end(), command), asked.end())
                << command << " of " << script.name;
    }
}

TEST(rights, redlock_member_needs_fewer_kinds_and_no_queue_or_channel) {
    const backend::membership part{"the redlock", lock_name{"mark"}, redlock_backend::supported_kinds()};
    std::vector<std::string> kinds;
    for (const auto& n : required_acls_of("job", part)) {
        kinds.push_back(n.shown);
        EXPECT_FALSE(n.channel);
        for (const auto& key : n.keys) EXPECT_EQ(key.name.find("holdfast:q1"), std::string::npos) << n.shown;
    }
    EXPECT_EQ(kinds, (std::vector<std::string>{"mutex", "mutex with fences", "recursive_mutex"}));
    const std::optional<lock_name> some[] = {std::nullopt, lock_name{"job"}};
    for (const auto& name : some) {
        const rights_question q{name, {}, part};
        const auto& words = q.words();
        for (const auto* word : {"SUBSCRIBE", "PUBLISH", "ZADD"})
            EXPECT_EQ(std::find(words.begin(), words.end(), word), words.end()) << word;
    }
}

TEST(rights, client_needs_depend_on_its_options) {
    EXPECT_TRUE(own_required_acls({}, {}).empty());
    const auto restarts = own_required_acls({}, {.after_restart = true});
    ASSERT_EQ(restarts.size(), 1U);
    EXPECT_EQ(restarts[0].commands,
              (std::vector<std::pair<std::string, importance>>{{"INFO", importance::needed}}));
    EXPECT_TRUE(restarts[0].keys.empty());
    const auto grace = own_required_acls({}, {.after_failover = true});
    ASSERT_EQ(grace.size(), 2U);
    ASSERT_EQ(grace[1].keys.size(), 1U);
    EXPECT_EQ(grace[1].keys[0].pattern, "holdfast:promoted");
    for (const auto& [command, how] : commands_of(redis_scripts::promoted.text)) {
        EXPECT_NE(std::find(grace[1].commands.begin(), grace[1].commands.end(),
                            std::pair{command, importance::helps}),
                  grace[1].commands.end())
            << command;
    }
    // Locks are granted without the note, but not without a run id.
    EXPECT_EQ(grace[1].keys[0].how, importance::helps);
    EXPECT_EQ(grace[0].commands[0].second, importance::needed);
}

TEST(rights, script_goes_on_after_a_refused_pcall) {
    const auto found = commands_of("local a = call('GET', N)\nredis.pcall('PUBLISH', c)\npcall('GET', Q)");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].name, "GET");
    EXPECT_EQ(found[0].then, script_command::on_refusal::fails);
    EXPECT_EQ(found[1].then, script_command::on_refusal::goes_on);
}

TEST(rights, patterns_match_the_name_and_nothing_else) {
    EXPECT_EQ(as_pattern("stock:{42}"), "stock:{42}");
    EXPECT_EQ(as_pattern("a*b?c[d]e\\f"), "a\\*b\\?c\\[d\\]e\\\\f");
    EXPECT_EQ(as_pattern(std::string_view{"a b\0c\xff", 6}), "a?b?c?");
}

// The answer of the script: `verdict` for calls that begin with `asked`, no complaint for others.
rights_question::answer read(const rights_question& q, const std::string& asked, const std::string& verdict) {
    std::vector<std::string> verdicts;
    const auto& words = q.words();
    for (std::size_t at = 3; at < words.size();) {
        const auto size = static_cast<std::size_t>(std::stoi(words[at]));
        std::string call;
        for (std::size_t i = at + 1; i <= at + size; ++i) call += (i == at + 1 ? "" : " ") + words[i];
        verdicts.push_back(call.starts_with(asked) ? verdict : "");
        at += size + 1;
    }
    return q.read(verdicts);
}

constexpr auto no_command = "ERR The user executing the script can't run this command or subcommand";
constexpr auto no_key =
    "ERR The user executing the script can't access at least one of the keys mentioned in the "
    "command arguments";
constexpr auto no_channel =
    "ERR The user executing the script can't publish to the channel mentioned in the command";

TEST(rights, a_refused_command_is_named) {
    const rights_question q{lock_name{"job"}};
    for (const auto* words : {no_command,
                              "NOPERM ACL failure in script: User alice has no permissions to run the "
                              "'zpopmin' command"}) {
        const auto a = read(q, "ZPOPMIN", words);
        ASSERT_EQ(a.missing.size(), 1U) << words;
        EXPECT_EQ(a.missing[0].rule, "+zpopmin");
        EXPECT_EQ(a.missing[0].needed_by[0].of, backend::kind::native);
        EXPECT_EQ(a.missing[0].needed_by[0].how, importance::helps);
    }
    EXPECT_EQ(read(q, "PUBSUB", no_command).missing.at(0).rule, "+pubsub|numsub");
    // A missing right to a key is not a missing command.
    EXPECT_TRUE(read(q, "ZPOPMIN", no_key).missing.empty());
    EXPECT_TRUE(
        read(q, "ZPOPMIN", "NOPERM ACL failure in script: No permissions to access a key").missing.empty());
}

TEST(rights, unknown_command_is_not_reported_as_a_missing_right) {
    const auto a = read(rights_question{lock_name{"job"}}, "ZPOPMIN", "unknown");
    ASSERT_EQ(a.missing.size(), 1U);
    EXPECT_EQ(a.missing[0].kind, missing_right::what::unknown_command);
    EXPECT_TRUE(read(rights_question{lock_name{"job"}}, "", "unknown").cannot_tell);
}

TEST(rights, a_refused_key_is_named) {
    const rights_question q{lock_name{"job"}};
    const auto a =
        read(q, "EVAL return 0 1 holdfast:q1:{job}", "ERR This Redis command is not allowed from script");
    ASSERT_EQ(a.missing.size(), 1U);
    EXPECT_EQ(a.missing[0].rule, "~holdfast:q1:{job}");
    const auto both = read(q, "EVAL return 0 2 job holdfast:q1:{job}", no_key);
    ASSERT_EQ(both.missing.size(), 1U);
    EXPECT_EQ(both.missing[0].kind, missing_right::what::selector);
    EXPECT_NE(both.missing[0].rule.find("~job ~holdfast:q1:{job} &holdfast:wake:*"), std::string::npos);
}

TEST(rights, a_refused_channel_is_named_once) {
    const rights_question q{lock_name{"job"}};
    const auto a = read(q, "PUBLISH redisson_rwlock:{job}", no_channel);
    ASSERT_EQ(a.missing.size(), 1U);
    EXPECT_EQ(a.missing[0].rule, "&redisson_rwlock:{job}");
    const auto listen =
        read(q, "SUBSCRIBE redisson_rwlock:{job}", "ERR This Redis command is not allowed from script");
    ASSERT_EQ(listen.missing.size(), 1U);
    EXPECT_EQ(listen.missing[0].rule, "+subscribe");
    EXPECT_EQ(read(q, "PUBLISH redisson_rwlock:{job}", no_command).missing.at(0).rule, "+publish");
}

TEST(rights, without_a_lock_name_no_key_is_reported_missing) {
    const auto a =
        read(rights_question{std::nullopt}, "EVAL return 0 1", "ERR This Redis command is not allowed");
    EXPECT_TRUE(a.missing.empty());
    EXPECT_TRUE(a.keys_differ);
}

TEST(rights, too_few_answers_report_no_missing_right) {
    EXPECT_TRUE(rights_question{std::nullopt}.read({}).missing.empty());
    EXPECT_TRUE(rights_question{std::nullopt}.read({""}).missing.empty());
}

// --- in the errors of lock clients --------------------------------------------------------------------

TEST(refusals, name_the_missing_right_and_holdfast_doctor) {
    const auto enqueue = std::string{redis_scripts::mutex_enqueue.sha1};
    const std::pair<std::string, std::string> table[] = {
        {"NOPERM this user has no permissions to run the 'evalsha' command", "the right to run evalsha;"},
        {"NOPERM User alice has no permissions to run the 'get' command", "the right to run get;"},
        {"NOPERM this user has no permissions to access one of the keys used as arguments",
         "the right to a key;"},
        {"NOPERM No permissions to access a key", "the right to a key;"},
        {"NOPERM this user has no permissions to access one of the channels used as arguments",
         "the right to a channel;"},
        {"ERR The user executing the script can't run this command or subcommand script: " + enqueue +
             ", on @user_script:2.",
         "the right to run GET;"},
        {"ERR The user executing the script can't run this command or subcommand script: " +
             std::string(40, '0') + ", on @user_script:2.",
         "the right to run a command;"},
        {"ERR The user executing the script can't run this command or subcommand script: " + enqueue +
             ", on @user_script:900.",
         "the right to run a command;"},
        {"ERR The user executing the script can't access at least one of the keys mentioned in the command "
         "arguments "
         "script: " +
             enqueue + ", on @user_script:2.",
         "the right to a key;"},
    };
    for (const auto& [text, says] : table) {
        const auto message = missing_right_of(text);
        EXPECT_NE(message.find("missing is " + says), std::string::npos) << message;
        EXPECT_NE(message.find("holdfast doctor"), std::string::npos);
    }
    for (const auto* other : {"OOM command not allowed", "WRONGPASS invalid username-password pair", ""})
        EXPECT_EQ(missing_right_of(other), "");
}

}  // namespace
}  // namespace holdfast::redis_backend::doctor
