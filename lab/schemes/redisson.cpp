// Redisson's way: a hash of owner and count, an owner that is unique everywhere, and a watchdog that renews
// the key while its holder lives. A refused caller sleeps until a message comes, or until the key would
// expire.
#include "lab/base/periodic_thread.hpp"
#include "lab/schemes/schemes.hpp"

#include "base/random.hpp"

#include <chrono>
#include <optional>

namespace holdfast::lab {

namespace {

constexpr auto acquire = R"(
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
    redis.call('hincrby', KEYS[1], ARGV[2], 1)
    redis.call('pexpire', KEYS[1], ARGV[1])
    return nil
end
return redis.call('pttl', KEYS[1]))";

constexpr auto release = R"(
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
    redis.call('pexpire', KEYS[1], ARGV[2])
    return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
return 1)";

constexpr auto renew = R"(
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then return redis.call('pexpire', KEYS[1], ARGV[1]) end
return 0)";

struct redisson final : scheme {
    using scheme::scheme;

    void lock() override {
        reply left = take();
        if (!left.nil()) {
            listen_to(channel);
            left = take();  // it may have become free before the subscription
        }
        while (!left.nil()) {
            stop("before_retry");
            wait_for_message(std::chrono::milliseconds{left.number()});
            left = take();
        }
        if (++holds == 1) watchdog.emplace(ttl / 3, [this] { return renewed(); });
    }

    void unlock() override {
        if (--holds == 0) watchdog.reset();
        send("EVAL", release, 2, key, channel, 0, ttl, id);
    }

    // Resends a command whose reply does not come: so does Redisson before 3.37, and with replicas still.
    reply take() {
        try {
            return send("EVAL", acquire, 1, key, ttl, id);
        } catch (const connection_broken&) {
            return send("EVAL", acquire, 1, key, ttl, id);
        }
    }

    // Renewal stops once an unlock has failed.
    void unwind() override { watchdog.reset(); }

    bool renewed() { return send_aside("EVAL", renew, 1, key, ttl, id) == 1; }

    const std::string id =
        base::client_id::make().uuid().substr(0, 8) + ":" + owner;  // a UUID, cut for the reader
    const std::string channel = "redisson_lock__channel:{" + key + "}";
    int holds = 0;
    std::optional<periodic_thread> watchdog;
};

}  // namespace

std::unique_ptr<scheme> make_redisson(performer& by) { return std::make_unique<redisson>(by); }

}  // namespace holdfast::lab
