// How the limits of a fair lock's queue develop when clients of Redisson and of ours arrive, enter, leave and
// die in any order. It runs on a real server, with our own scripts and with scripts written here that do to
// the keys what Redisson's do (redisson-wire 4). Time passes by shifting all times that the server has
// stored.
#include "server/scene.hpp"

#include <hiredis/hiredis.h>
#include <rapidcheck.h>

#include <map>
#include <set>

namespace holdfast::test {
namespace {

// KEYS as ours. ARGV: owner, now. Each of Redisson's scripts begins with this, except that of a client that
// gives up.
const std::string redisson_purges = R"(
local N, Q, T = KEYS[1], KEYS[2], KEYS[3]
local me, now = ARGV[1], tonumber(ARGV[2])
while true do
  local first = redis.call('LINDEX', Q, 0)
  local limit = first and redis.call('ZSCORE', T, first)
  if not limit or tonumber(limit) > now then break end
  redis.call('ZREM', T, first)
  redis.call('LPOP', Q)
end
)";
// ARGV: lease, wait. Returns 'entered', or 'waits' if it is in the queue.
const std::string script_to_ask = redisson_purges + R"(
local lease, wait = ARGV[3], tonumber(ARGV[4])
local first = redis.call('LINDEX', Q, 0)
if redis.call('EXISTS', N) == 0 and (not first or first == me) then
  redis.call('LPOP', Q)
  redis.call('ZREM', T, me)
  for _, other in ipairs(redis.call('ZRANGE', T, 0, -1)) do redis.call('ZINCRBY', T, -wait, other) end
  redis.call('HSET', N, me, 1)
  redis.call('PEXPIRE', N, lease)
  return 'entered'
end
if redis.call('ZSCORE', T, me) then return 'waits' end
local last = redis.call('LINDEX', Q, -1)
local limit = last and redis.call('ZSCORE', T, last)
local ahead = limit and tonumber(limit) - now or redis.call('PTTL', N)
redis.call('ZADD', T, now + ahead + wait, me)
redis.call('RPUSH', Q, me)
return 'waits'
)";
const std::string script_to_unlock = redisson_purges + "redis.call('DEL', N)";
// ARGV: owner, wait.
const std::string script_to_give_up = R"(
local Q, T, me, behind = KEYS[2], KEYS[3], ARGV[1], false
for _, owner in ipairs(redis.call('LRANGE', Q, 0, -1)) do
  if behind then redis.call('ZINCRBY', T, -tonumber(ARGV[2]), owner) end
  behind = behind or owner == me
end
redis.call('ZREM', T, me)
redis.call('LREM', Q, 0, me)
)";

class queue_of_both {
  public:
    enum class step {
        java_arrives,
        we_arrive,
        java_asks_again,
        we_ask_again,
        holder_unlocks,
        java_gives_up,
        we_leave,
        waiter_dies,
        holder_dies,
        a_second_passes,
        minutes_pass,
    };
    static constexpr int steps = 11;

    queue_of_both(redis_server& server, std::set<std::string>& listeners, redisContext& listening)
        : server_(server), listeners_(listeners), listening_(listening) {
        server_.command({"FLUSHALL"});
        for (const auto& owner : std::set{listeners_}) stops_listening(owner);
    }

    // `which` picks one of the clients to which it may happen.
    void take(step what, unsigned which) {
        const auto before = limits();
        switch (what) {
            case step::java_arrives: {
                constexpr std::array<std::int64_t, 3> waits{500, 10'000, java_wait};
                if (queue().size() < 8) java_asks_as(java_owner(), waits.at(which % waits.size()));
                break;
            }
            case step::we_arrive:
                if (queue().size() < 8) we_ask_as(our_owner());
                break;
            case step::java_asks_again:
                if (const auto* owner = one_alive(false, which)) java_asks_as(*owner, wait_of_.at(*owner));
                break;
            case step::we_ask_again: all_of_ours_ask(); break;
            case step::holder_unlocks: unlock(); break;
            case step::java_gives_up:
                if (const auto* owner = one_alive(false, which)) {
                    run(script_to_give_up, {*owner, std::to_string(wait_of_.at(*owner))});
                    forget(std::string{*owner});
                }
                break;
            case step::we_leave:
                if (const auto* owner = one_alive(true, which)) {
                    run(std::string{redis_scripts::fair_release.text},
                        {*owner, "1", channel, std::to_string(liveness), "PUBLISH"});
                    forget(std::string{*owner});
                }
                break;
            case step::waiter_dies:
                if (!alive_.empty()) {
                    const auto owner = *std::next(alive_.begin(), which % alive_.size());
                    died_with_[owner] = before.contains(owner) ? before.at(owner) : 0;
                    forget(owner);
                }
                break;
            case step::holder_dies: holder_.clear(); break;
            case step::a_second_passes: a_second_passes(); break;
            case step::minutes_pass:
                for (unsigned s = 0; s < 5 + which % 120; ++s) a_second_passes();
                break;
        }
        const bool ours_acted =
            what == step::we_arrive || what == step::we_ask_again || what == step::we_leave;
        if (ours_acted) java_was_not_cut(before);
        if (what == step::we_ask_again || what == step::a_second_passes) limits_are_bounded();
        java_ahead_of_ours_is_as_without_us();
        ours_keep_their_place();
    }

  private:
    static constexpr std::int64_t lease = 30'000;
    static constexpr std::int64_t liveness = 5'000;
    static constexpr std::int64_t java_wait =
        300'000;  // the longest of those below, and what Redisson counts for lock()
    static constexpr std::int64_t tolerance = 3'000 * slower;

    static constexpr auto queue_key = "redisson_lock_queue:{job}";
    static constexpr auto limits_key = "redisson_lock_timeout:{job}";
    static constexpr auto absent_key = "holdfast:d1:{job}";

    [[nodiscard]] static bool is_ours(const std::string& owner) {
        return owner.size() - owner.find(':') == 17;
    }
    [[nodiscard]] std::string java_owner() {
        return "0d2b3c47-0c5e-4a45-9f9e-000000000000:" + std::to_string(++serial_);
    }
    [[nodiscard]] std::string our_owner() {
        return "1d2b3c47-0c5e-4a45-9f9e-000000000000:" + std::to_string(1'600'000'000'000'000 + ++serial_);
    }

    redis_reply run(const std::string& script, const std::vector<std::string>& arguments) {
        std::vector<std::string> words{"EVAL", script, "3", "job", queue_key, limits_key};
        words.insert(words.end(), arguments.begin(), arguments.end());
        auto reply = server_.command(words);
        RC_ASSERT(!reply.is_error());
        return reply;
    }
    [[nodiscard]] std::int64_t now() {
        const auto time = server_.command({"TIME"}).items;
        return std::stoll(time[0].text) * 1000 + std::stoll(time[1].text) / 1000;
    }
    [[nodiscard]] std::vector<std::string> queue() {
        std::vector<std::string> all;
        for (const auto& owner : server_.command({"LRANGE", queue_key, "0", "-1"}).items)
            all.push_back(owner.text);
        return all;
    }
    // The limits of all waiters, counted from now.
    [[nodiscard]] std::map<std::string, std::int64_t> limits() {
        std::map<std::string, std::int64_t> all;
        const auto time = now();
        for (const auto& owner : queue()) {
            const auto score = server_.command({"ZSCORE", limits_key, owner});
            RC_ASSERT(!score.is_nil());
            all[owner] = static_cast<std::int64_t>(std::stod(score.text)) - time;
        }
        return all;
    }

    void listens(const std::string& owner) { listening("SUBSCRIBE", owner); }
    void stops_listening(const std::string& owner) { listening("UNSUBSCRIBE", owner); }
    void listening(const std::string& how, const std::string& owner) {
        const bool on = how == "SUBSCRIBE";
        if (listeners_.contains(owner) == on) return;
        const auto say = how + " " + channel + owner;
        redisAppendCommand(&listening_, say.c_str());
        for (std::string answered; answered != (on ? "subscribe" : "unsubscribe");) {
            void* got = nullptr;
            RC_ASSERT(redisGetReply(&listening_, &got) == REDIS_OK);
            answered = static_cast<redisReply*>(got)->element[0]->str;
            freeReplyObject(got);
        }
        if (on)
            listeners_.insert(owner);
        else
            listeners_.erase(owner);
    }
    void forget(const std::string& owner) {
        stops_listening(owner);
        alive_.erase(owner);
    }
    void entered(const std::string& owner) {
        RC_ASSERT(holder_.empty());
        holder_ = owner;
        forget(owner);
    }

    void java_asks_as(const std::string& owner, std::int64_t wait) {
        wait_of_[owner] = wait;
        const auto reply =
            run(script_to_ask, {owner, std::to_string(now()), std::to_string(lease), std::to_string(wait)});
        if (reply.text == "entered") return entered(std::string{owner});
        alive_.insert(owner);
        listens(owner);
    }
    void we_ask_as(const std::string& owner) {
        const auto reply = run(
            std::string{redis_scripts::fair_acquire.text},
            {owner, std::to_string(lease), "1", channel, std::to_string(liveness), absent_key, "PUBLISH"});
        if (reply.type == redis_reply::kind::integer) return entered(std::string{owner});
        alive_.insert(owner);
        listens(owner);
    }
    void all_of_ours_ask() {
        for (const auto& owner : queue())
            if (is_ours(owner) && alive_.contains(owner)) we_ask_as(owner);
    }
    void unlock() {
        if (holder_.empty()) return;
        if (is_ours(holder_))
            run(std::string{redis_scripts::fair_release.text},
                {holder_, "0", channel, std::to_string(liveness), "PUBLISH"});
        else
            run(script_to_unlock, {holder_, std::to_string(now())});
        holder_.clear();
        const auto waiting = queue();
        if (waiting.empty() || !alive_.contains(waiting[0])) return;
        if (is_ours(waiting[0]))
            we_ask_as(waiting[0]);
        else
            java_asks_as(waiting[0], wait_of_.at(waiting[0]));
    }
    // Our waiters ask once a second. The holder renews its lease.
    void a_second_passes() {
        for (const auto& owner : queue()) server_.command({"ZINCRBY", limits_key, "-1000", owner});
        const auto absent = server_.command({"HGETALL", absent_key}).items;
        for (std::size_t i = 0; i + 1 < absent.size(); i += 2) {
            if (absent[i + 1].text.size() > 8)
                server_.command({"HINCRBY", absent_key, absent[i].text, "-1000"});
        }
        const auto left = pttl(server_, "job").count();
        if (holder_.empty() && left > 0) server_.command({"PEXPIRE", "job", std::to_string(left - 1000)});
        if (!holder_.empty()) server_.command({"PEXPIRE", "job", std::to_string(lease)});
        all_of_ours_ask();
    }
    [[nodiscard]] const std::string* one_alive(bool ours, unsigned which) {
        std::vector<const std::string*> those;
        for (const auto& owner : alive_)
            if (is_ours(owner) == ours) those.push_back(&owner);
        return those.empty() ? nullptr : those[which % those.size()];
    }

    // Each waiter adds its own time: at most 300 s for each of Java's, the liveness for each of ours. We do
    // not know what the head of Java's subtracts, which costs 300 s once; a dead owner keeps what it had.
    void limits_are_bounded() {
        const auto found = limits();
        std::int64_t bound = lease + java_wait + 2 * liveness + tolerance;
        for (const auto& owner : queue()) {
            bound += is_ours(owner) ? liveness * 3 / 2 : java_wait;
            if (const auto died = died_with_.find(owner); died != died_with_.end() && is_ours(owner))
                bound = std::max(bound, died->second + 2 * liveness);
            if (found.at(owner) > bound) RC_FAIL("limit " + std::to_string(found.at(owner)) + " ms");
        }
    }
    // With none of ours ahead, an owner of Java's has what Redisson alone would have given it.
    void java_ahead_of_ours_is_as_without_us() {
        for (const auto& field : server_.command({"HKEYS", absent_key}).items)
            if (field.text.ends_with(" prolonged")) prolonged_ = true;
        const auto waiting = queue();
        if (waiting.empty()) prolonged_ = false;
        if (prolonged_) return;
        const auto found = limits();
        auto bound = lease + tolerance;
        for (const auto& owner : waiting) {
            if (is_ours(owner)) break;
            bound += wait_of_.at(owner);
            if (found.at(owner) > bound)
                RC_FAIL("limit of Java's " + std::to_string(found.at(owner)) + " ms");
        }
    }
    void java_was_not_cut(const std::map<std::string, std::int64_t>& before) {
        const auto after = limits();
        for (const auto& [owner, limit] : before) {
            if (is_ours(owner)) continue;
            if (after.contains(owner))
                RC_ASSERT(after.at(owner) >= std::min(limit, wait_of_.at(owner)) - tolerance);
            else
                RC_ASSERT(!alive_.contains(owner) || limit <= 0);
        }
    }
    void ours_keep_their_place() {
        const auto waiting = queue();
        for (const auto& owner : alive_)
            RC_ASSERT(!is_ours(owner) || std::count(waiting.begin(), waiting.end(), owner) == 1);
    }

    const std::string channel = channel_of("job") + ":";
    redis_server& server_;
    std::set<std::string>& listeners_;  // of all queues so far; one connection listens for all
    redisContext& listening_;
    std::set<std::string> alive_;  // the waiters that live
    std::string holder_;           // empty: no holder, or it died
    std::map<std::string, std::int64_t> wait_of_;
    std::map<std::string, std::int64_t> died_with_;
    bool prolonged_ = false;
    int serial_ = 0;
};

TEST(limits_of_a_fair_queue, stay_bounded_whichever_clients_arrive_enter_leave_or_die) {
    redis_server server;
    const std::unique_ptr<redisContext, void (*)(redisContext*)> listening{
        redisConnect("127.0.0.1", server.port()), redisFree};
    ASSERT_TRUE(listening && listening->err == 0);
    std::set<std::string> listeners;
    const auto holds = rc::check([&] {
        queue_of_both queue{server, listeners, *listening};
        const auto events = *rc::gen::resize(100, rc::gen::container<std::vector<std::pair<int, unsigned>>>(
                                                      rc::gen::pair(rc::gen::weightedElement<int>({{4, 0},
                                                                                                   {4, 1},
                                                                                                   {2, 2},
                                                                                                   {4, 3},
                                                                                                   {7, 4},
                                                                                                   {1, 5},
                                                                                                   {1, 6},
                                                                                                   {1, 7},
                                                                                                   {1, 8},
                                                                                                   {3, 9},
                                                                                                   {1, 10}}),
                                                                    rc::gen::inRange(0U, 1'000U))));
        for (const auto& [what, which] : events)
            queue.take(static_cast<queue_of_both::step>(what % queue_of_both::steps), which);
    });
    EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace holdfast::test
