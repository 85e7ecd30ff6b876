// Every script on a server whose memory is full: scripts that release, renew or hand off work; scripts that
// acquire are refused before they write anything.
#include "server/scene.hpp"

#include <hiredis/hiredis.h>

#include <set>

namespace holdfast::test::without_memory {
namespace {

using words = std::vector<std::string>;

const std::string client_a(22, 'A');
const std::string client_b(22, 'B');
const std::string ours = client_a + "|1", waiting = client_b + "|2", dead = std::string(22, 'C') + "|3";
const std::string wake = "holdfast:wake:";
const std::string queue = queue_of("job"), fence_key = "holdfast:f1:{job}", out = "holdfast:p1:{job}";
const std::string operation = "holdfast:o1:{job}:1", mark = "{job}:" + ours + ":rwlock_timeout:1";
const std::string owner = "8743c9c0-0795-4907-87fd-6c719a6b4586:1111111111111111";
const std::string other = "8743c9c0-0795-4907-87fd-6c719a6b4586:2222222222222222";
const std::string behind = "8743c9c0-0795-4907-87fd-6c719a6b4586:3333333333333333";
const std::string fair_queue = "redisson_lock_queue:{job}", limits = "redisson_lock_timeout:{job}";
const std::string far = "4000000000000";

struct after {
    words question;
    std::string answer;
};
struct row {
    std::string what;
    const redis_scripts::script* script;
    std::vector<words> before;
    words keys;
    words args;
    std::string reply;  // as redis-cli shows it; "OOM": refused, and nothing is written
    std::vector<after> then;
};

std::string shown(const redis_reply& reply) {
    std::ostringstream text;
    text << reply;
    return text.str();
}

std::vector<row> rows() {
    namespace s = redis_scripts;
    const words taken{"SET", "job", ours, "PX", "9000"};
    const words place_of_waiting{"ZADD", queue, "5", waiting}, place_of_dead{"ZADD", queue, "4", dead};
    const words hash{"HSET", "job", owner, "1"};
    const words fair_keys{"job", fair_queue, limits};
    const std::string fair_channel = channel_of("job") + ":";
    const after free{{"EXISTS", "job"}, "(integer) 0"}, empty_queue{{"EXISTS", queue}, "(integer) 0"};
    const after handed{{"GET", "job"}, '"' + waiting + '"'};
    const std::string ttl = "60000";
    const std::vector<words> fair_line{{"RPUSH", fair_queue, owner, other, behind},
                                       {"ZADD", limits, far, owner, far, other, far, behind}};
    const auto with = [](std::vector<words> all, const words& more) {
        all.push_back(more);
        return all;
    };
    const auto semaphore = [&](const std::string& verb, words more, bool once) {
        words args{verb, "redisson_sc:{job}", "1", "PUBLISH", "60000"};
        args.insert(args.end(), more.begin(), more.end());
        return std::pair{once ? words{"job", out, operation} : words{"job", out}, args};
    };
    const std::string permit = ours + "|2";
    const auto [give_keys, give_args] = semaphore("give", {permit}, false);
    const auto [disown_keys, disown_args] = semaphore("disown", {permit}, true);
    const auto [add_keys, add_args] = semaphore("add", {"2"}, true);
    const auto [take_keys, take_args] = semaphore("take", {ttl, "", permit}, false);
    const std::vector<words> two_are_taken{{"SET", "job", "3"}, {"ZADD", out, far, permit}};
    const words latch_keys{"job", operation};
    const std::string latch_channel = "redisson_countdownlatch__channel__{job}";

    return {
        {"renew a mutex", &s::mutex_renew, {taken}, {"job"}, {ttl, ours}, "[]", {}},
        {"release a mutex",
         &s::mutex_release_and_hand_off,
         {taken},
         {"job", queue},
         {ours, "3000", wake, "0", "PUBLISH"},
         "(integer) 1",
         {free}},
        {"release a mutex to the first live waiter",
         &s::mutex_release_and_hand_off,
         {taken, place_of_dead, place_of_waiting},
         {"job", queue},
         {ours, "3000", wake, "0", "PUBLISH"},
         "(integer) 2",
         {handed, empty_queue}},
        {"leave the queue of a mutex",
         &s::mutex_release_and_hand_off,
         {taken, place_of_waiting},
         {"job", queue},
         {waiting, "3000", wake, "1", "PUBLISH"},
         "(integer) 0",
         {empty_queue}},
        {"undo a bid that was granted",
         &s::mutex_release_and_hand_off,
         {taken, place_of_waiting},
         {"job", queue},
         {ours, "3000", wake, "1", "PUBLISH"},
         "(integer) 2",
         {handed}},
        {"release a mutex without a queue",
         &s::mutex_delete_if_owner,
         {taken},
         {"job"},
         {ours},
         "(integer) 1",
         {free}},
        {"claim a mutex that was handed off",
         &s::mutex_enqueue,
         {{"SET", "job", ours, "PX", "3000"}},
         {"job", queue},
         {ours, ttl, "3000", wake, "120000", "PUBLISH"},
         "(integer) 1",
         {}},
        {"take a free mutex by its turn in the queue",
         &s::mutex_enqueue,
         {{"ZADD", queue, "5", ours}},
         {"job", queue},
         {ours, ttl, "3000", wake, "120000", "PUBLISH"},
         "(integer) 1",
         {empty_queue}},
        {"take the fence of a mutex that was handed off",
         &s::mutex_take_fenced,
         {taken, {"SET", fence_key, "9007199254740000"}},
         {"job", fence_key},
         {ours, ttl, "604800", "0"},
         "[(integer) 1, \"9007199254740001\"]",
         {}},
        {"take a free mutex", &s::mutex_take, {}, {"job"}, {ours, ttl}, "OOM", {}},
        {"take a free mutex with a fence",
         &s::mutex_take_fenced,
         {},
         {"job", fence_key},
         {ours, ttl, "604800", "1"},
         "OOM",
         {}},
        {"raise a fence",
         &s::mutex_raise_fence,
         {taken},
         {"job", fence_key},
         {ours, "7", "604800"},
         "OOM",
         {}},

        {"renew a recursive mutex",
         &s::recursive_renew,
         {hash, {"PEXPIRE", "job", "9000"}},
         {"job"},
         {ttl, "3", owner},
         "[]",
         {{{"HGET", "job", owner}, "\"3\""}}},
        {"release a recursive mutex",
         &s::recursive_release,
         {hash},
         {"job"},
         {owner, channel_of("job"), "PUBLISH"},
         "(integer) 0",
         {free}},
        {"take a free recursive mutex", &s::recursive_acquire, {}, {"job"}, {owner, ttl, "16"}, "OOM", {}},
        {"take a free fenced mutex",
         &s::recursive_acquire,
         {{"SET", "redisson_lock_token:{job}", "5"}},
         {"job", "redisson_lock_token:{job}"},
         {owner, ttl, "16"},
         "OOM",
         {}},

        {"release a fair mutex",
         &s::fair_release,
         {hash},
         fair_keys,
         {owner, "0", fair_channel, "2000", "PUBLISH"},
         "(integer) 0",
         {free}},
        {"leave the queue of a fair mutex",
         &s::fair_release,
         with(fair_line, {"HSET", "job", behind, "1"}),
         fair_keys,
         {other, "1", fair_channel, "2000", "PUBLISH"},
         "(integer) -1",
         {{{"LLEN", fair_queue}, "(integer) 2"}, {{"ZSCORE", limits, other}, "(nil)"}}},
        {"evict from a fair mutex",
         &s::fair_release,
         with(fair_line, {"HSET", "job", behind, "1"}),
         fair_keys,
         {"", "0", fair_channel, "2000", "PUBLISH"},
         "(integer) 0",
         {free, {{"LLEN", fair_queue}, "(integer) 3"}}},
        {"take a free fair mutex by its turn in the queue",
         &s::fair_acquire,
         fair_line,
         fair_keys,
         {owner, ttl, "1", fair_channel, "2000", "holdfast:d1:{job}", "PUBLISH"},
         "(integer) 0",
         {{{"LLEN", fair_queue}, "(integer) 2"}, {{"HGET", "job", owner}, "\"1\""}}},
        {"take a free fair mutex",
         &s::fair_acquire,
         {},
         fair_keys,
         {owner, ttl, "1", fair_channel, "2000", "holdfast:d1:{job}", "PUBLISH"},
         "OOM",
         {}},
        {"join the queue of a fair mutex",
         &s::fair_acquire,
         {{"HSET", "job", behind, "1"}},
         fair_keys,
         {owner, ttl, "1", fair_channel, "2000", "holdfast:d1:{job}", "PUBLISH"},
         "OOM",
         {}},
        {"remove dead waiters from the queue of a fair mutex",
         &s::fair_queue,
         {{"RPUSH", fair_queue, owner, other, behind}},
         fair_keys,
         {fair_channel, "NUMSUB", "PUBLISH", owner, other, behind},
         "[(integer) -1, \"" + owner + "\", \"" + other + "\", \"" + behind + "\"]",
         {{{"EXISTS", fair_queue}, "(integer) 0"}, {{"EXISTS", limits}, "(integer) 0"}}},

        {"renew the readers of a shared mutex",
         &s::shared_read_renew,
         {{"HSET", "job", "mode", "read", ours, "1"}, {"PEXPIRE", "job", "9000"}},
         {"job"},
         {ttl, ours, mark},
         "[]",
         {{{"EXISTS", mark}, "(integer) 1"}}},
        {"release a reader",
         &s::shared_release,
         {{"HSET", "job", "mode", "read", ours, "1"}, {"SET", mark, "1"}},
         {"job", mark},
         {ours, "redisson_rwlock:{job}", "{job}:", ":rwlock_timeout:", "PUBLISH"},
         "(integer) 0",
         {free, {{"EXISTS", mark}, "(integer) 0"}}},
        {"release a writer that also reads",
         &s::shared_release,
         {{"HSET", "job", "mode", "write", owner + ":write", "1", ours, "1"},
          {"SET", mark, "1", "PX", "9000"}},
         {"job"},
         {owner + ":write", "redisson_rwlock:{job}", "{job}:", ":rwlock_timeout:", "PUBLISH"},
         "(integer) 0",
         {{{"HGET", "job", "mode"}, "\"read\""}}},
        {"become a reader",
         &s::shared_acquire,
         {{"HSET", "job", "mode", "read", owner, "1"}},
         {"job", mark},
         {ours, ttl, ""},
         "OOM",
         {}},

        {"renew permits",
         &s::semaphore_renew,
         two_are_taken,
         {"job"},
         {ttl, out, std::to_string(permit.size()), permit},
         "[]",
         {}},
        {"release permits",
         &s::semaphore,
         two_are_taken,
         give_keys,
         give_args,
         "(integer) 0",
         {{{"GET", "job"}, "\"5\""}, {{"EXISTS", out}, "(integer) 0"}}},
        {"keep permits for good",
         &s::semaphore,
         two_are_taken,
         disown_keys,
         disown_args,
         "(integer) 1",
         {{{"GET", "job"}, "\"3\""}, {{"EXISTS", out}, "(integer) 0"}}},
        {"add permits",
         &s::semaphore,
         {{"SET", "job", "3"}},
         add_keys,
         add_args,
         "(integer) 5",
         {{{"GET", operation}, "\"5\""}}},
        {"take permits", &s::semaphore, {{"SET", "job", "3"}}, take_keys, take_args, "OOM", {}},

        {"count a latch down",
         &s::latch,
         {{"SET", "job", "3"}},
         latch_keys,
         {"down", latch_channel, "1", "PUBLISH", "60000"},
         "(integer) 2",
         {{{"GET", "job"}, "\"2\""}, {{"GET", operation}, "\"2\""}}},
        {"open a latch",
         &s::latch,
         {{"SET", "job", "1"}},
         latch_keys,
         {"down", latch_channel, "1", "PUBLISH", "60000"},
         "(integer) 0",
         {free}},
        {"erase a latch",
         &s::latch,
         {{"SET", "job", "3"}},
         latch_keys,
         {"erase", latch_channel, "0", "PUBLISH", "60000"},
         "(integer) 1",
         {free}},
        {"set a latch",
         &s::latch,
         {},
         latch_keys,
         {"set", latch_channel, "3", "PUBLISH", "60000"},
         "OOM",
         {}},

        {"note a promotion", &s::promoted, {}, {"holdfast:promoted"}, {"server", "5000"}, "OOM", {}},
    };
}

class script_without_memory : public ::testing::Test {
  protected:
    std::vector<std::string> dump() {
        std::vector<std::string> all;
        for (const auto& key : server.keys()) all.push_back(key + " " + shown(server.command({"DUMP", key})));
        return all;
    }
    redis_server server;
};

TEST_F(script_without_memory, releases_renews_and_hands_off_or_writes_nothing) {
    // A listener receives the messages for the waiter.
    const std::unique_ptr<redisContext, void (*)(redisContext*)> listener{
        redisConnect("127.0.0.1", server.port()), &redisFree};
    const std::unique_ptr<void, void (*)(void*)> confirmed{
        redisCommand(listener.get(), "SUBSCRIBE %s", (wake + client_b).c_str()), &freeReplyObject};
    for (const auto& r : rows()) {
        SCOPED_TRACE(r.what);
        ASSERT_EQ(server.command({"CONFIG", "SET", "maxmemory", "0"}).text, "OK");
        server.command({"FLUSHALL"});
        for (const auto& command : r.before)
            ASSERT_FALSE(server.command(command).is_error()) << command.at(0);
        const auto before = dump();
        ASSERT_EQ(server.command({"CONFIG", "SET", "maxmemory", "1"}).text, "OK");
        words call{"EVAL", std::string{r.script->text}, std::to_string(r.keys.size())};
        call.insert(call.end(), r.keys.begin(), r.keys.end());
        call.insert(call.end(), r.args.begin(), r.args.end());
        const auto reply = server.command(call);
        if (r.reply == "OOM") {
            EXPECT_TRUE(reply.is_error());
            EXPECT_NE(reply.text.find("OOM"), std::string::npos) << reply;
            EXPECT_EQ(dump(), before);
        } else {
            EXPECT_EQ(shown(reply), r.reply);
        }
        for (const auto& [question, answer] : r.then)
            EXPECT_EQ(shown(server.command(question)), answer) << question.at(0);
    }
}

TEST_F(script_without_memory, is_tested_for_every_script) {
    std::set<std::string_view> tested{redis_scripts::peek.name, redis_scripts::evict_ask.name,
                                      redis_scripts::rights.name};  // these write nothing
    for (const auto& r : rows()) tested.insert(r.script->name);
    for (const auto& s : redis_scripts::all) {
        // The code around a release writes nothing.
        const auto release = s.name.substr(0, s.name.rfind("_evicting"));
        EXPECT_TRUE(tested.count(release)) << s.name;
    }
}

}  // namespace
}  // namespace holdfast::test::without_memory
