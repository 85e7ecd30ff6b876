// The scripts that count, run by a user with partial rights: a refused script has changed nothing.
#include "server/scene.hpp"

#include <hiredis/hiredis.h>

namespace holdfast::test::without_a_right {
namespace {

using words = std::vector<std::string>;

const std::string out = "holdfast:p1:{job}", operation = "holdfast:o1:{job}:1", far = "4000000000000";
const std::string permit = std::string(22, 'A') + "|1|2";

struct row {
    std::string what;
    const redis_scripts::script* script;
    std::vector<words> before;
    words args;
};

std::vector<row> rows() {
    namespace s = redis_scripts;
    const auto latch = [](const std::string& verb, const std::string& amount) {
        return words{verb, "redisson_countdownlatch__channel__{job}", amount, "PUBLISH", "60000"};
    };
    const auto semaphore = [](const std::string& verb, const words& more) {
        words args{verb, "redisson_sc:{job}", "1", "PUBLISH", "60000"};
        args.insert(args.end(), more.begin(), more.end());
        return args;
    };
    const std::vector<words> three{{"SET", "job", "3"}};
    const std::vector<words> for_a_while{{"SET", "job", "3", "PX", "600000"}};
    const std::vector<words> two_are_taken{{"SET", "job", "3"}, {"ZADD", out, far, permit}};
    return {
        {"set a latch", &s::latch, {}, latch("set", "3")},
        {"set a latch that is set", &s::latch, three, latch("set", "3")},
        {"count a latch down", &s::latch, three, latch("down", "1")},
        {"open a latch", &s::latch, three, latch("down", "3")},
        {"erase a latch", &s::latch, three, latch("erase", "0")},
        {"set permits", &s::semaphore, {}, semaphore("set", {"5"})},
        {"set permits that are set", &s::semaphore, three, semaphore("set", {"5"})},
        {"add permits", &s::semaphore, three, semaphore("add", {"2"})},
        {"add the first permits", &s::semaphore, {}, semaphore("add", {"2"})},
        {"drain permits", &s::semaphore, three, semaphore("drain", {"0"})},
        {"take permits", &s::semaphore, three, semaphore("take", {"60000", "", permit})},
        {"take permits of a number that expires", &s::semaphore, for_a_while,
         semaphore("take", {"60000", "", permit})},
        {"release permits", &s::semaphore, two_are_taken, semaphore("give", {permit})},
        {"keep permits for good", &s::semaphore, two_are_taken, semaphore("disown", {permit})},
    };
}

class script_without_a_right : public ::testing::Test {
  protected:
    struct freed {
        void operator()(redisContext* c) const { redisFree(c); }
        void operator()(redisReply* r) const { freeReplyObject(r); }
    };
    using reply = std::unique_ptr<redisReply, freed>;

    void SetUp() override {
        limited_.reset(redisConnect("127.0.0.1", server.port()));
        ASSERT_TRUE(limited_ && limited_->err == 0);
    }
    reply as_limited(const words& command) {
        std::vector<const char*> texts;
        std::vector<std::size_t> sizes;
        for (const auto& word : command) {
            texts.push_back(word.data());
            sizes.push_back(word.size());
        }
        return reply{static_cast<redisReply*>(
            redisCommandArgv(limited_.get(), static_cast<int>(texts.size()), texts.data(), sizes.data()))};
    }
    // What the user may do from now on.
    void allow(words rules) {
        rules.insert(rules.begin(), {"ACL", "SETUSER", "limited", "reset", "on", ">pw", "&*", "+@all"});
        ASSERT_EQ(server.command(rules).text, "OK");
        ASSERT_EQ(as_limited({"AUTH", "limited", "pw"})->type, REDIS_REPLY_STATUS);
    }
    words dump() {
        words all;
        for (const auto& key : server.keys()) {
            std::ostringstream text;
            text << key << ' ' << server.command({"DUMP", key});
            all.push_back(text.str());
        }
        return all;
    }
    // The script may be refused or not; a refused one changes nothing.
    void expect_all_or_nothing(const row& r) {
        server.command({"FLUSHALL"});
        for (const auto& command : r.before) ASSERT_FALSE(server.command(command).is_error());
        const auto before = dump();
        const bool owned = r.script != &redis_scripts::latch;
        words call{"EVAL", std::string{r.script->text}, owned ? "3" : "2", "job"};
        if (owned) call.push_back(out);
        // Without an operation, as for a lease, the key is passed all the same.
        call.push_back(operation);
        call.insert(call.end(), r.args.begin(), r.args.end());
        const auto answer = as_limited(call);
        ASSERT_TRUE(answer);
        if (answer->type == REDIS_REPLY_ERROR) {
            EXPECT_EQ(dump(), before) << answer->str;
        }
    }

    redis_server server;

  private:
    std::unique_ptr<redisContext, freed> limited_;
};

TEST_F(script_without_a_right, to_a_command_does_all_or_nothing) {
    for (const auto* const right : {"get", "set", "del", "incrby", "decrby", "time", "zadd", "zrem", "zscore",
                                    "zrange", "zrangebyscore", "pttl", "pexpire", "publish"}) {
        ASSERT_NO_FATAL_FAILURE(allow({"~*", std::string{"-"} + right}));
        for (const auto& r : rows()) {
            SCOPED_TRACE(r.what + " without " + right);
            ASSERT_NO_FATAL_FAILURE(expect_all_or_nothing(r));
        }
    }
}

TEST_F(script_without_a_right, to_write_a_key_does_all_or_nothing) {
    const words keys{"job", out, operation};
    for (const auto& only_read : keys) {
        words rules;
        for (const auto& key : keys) rules.push_back((key == only_read ? "%R~" : "~") + key);
        ASSERT_NO_FATAL_FAILURE(allow(rules));
        for (const auto& r : rows()) {
            SCOPED_TRACE(r.what + " without the right to write " + only_read);
            ASSERT_NO_FATAL_FAILURE(expect_all_or_nothing(r));
        }
    }
}

}  // namespace
}  // namespace holdfast::test::without_a_right
