// Redlock: the lock is taken on several independent servers; more than half must grant it within its TTL.
// Then its variants: one that does not check the clock, one with members that are marked, and one with a
// fence. (Left out: a separate value for each request, and the allowance for clock drift.)
#include "lab/schemes/schemes.hpp"

#include <holdfast/fence_check.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::lab {

namespace {

struct redlock : scheme {
    using scheme::scheme;

    static constexpr auto compare_and_delete = R"(
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0)";

    void lock() override {
        while (!try_lock()) stop("before_retry");
    }

    bool try_lock() {
        const auto begun = boot_clock::now();  // step 1
        std::size_t granted = 0;
        for (std::size_t i = 0; i < servers(); ++i) granted += take_if_reached(i) ? 1 : 0;  // step 2
        stop("after_quorum");
        if (granted > servers() / 2 && in_time(begun)) return true;
        unlock();  // step 5: on all servers, even those that seemed to refuse
        return false;
    }

    // Steps 3 and 4.
    virtual bool in_time(boot_clock::time_point begun) { return boot_clock::now() - begun < ttl; }

    virtual bool take(std::size_t server) {
        return send_to(server, "SET", key, owner, "NX", "PX", ttl) == "OK";
    }

    bool take_if_reached(std::size_t server) {
        try {
            return take(server);
        } catch (const command_failed&) {
            return false;
        }
    }

    void unlock() override {
        for (std::size_t i = 0; i < servers(); ++i) {
            try {
                send_to(i, "EVAL", compare_and_delete, 1, key, owner);
            } catch (const command_failed&) {  // the TTL frees it
            }
        }
    }
};

// Without step 3.
struct redlock_unchecked final : redlock {
    using redlock::redlock;

    bool in_time(boot_clock::time_point) override { return true; }
};

// A node has a vote only if an administrator marked it. A node that lost its data has lost its mark too, and
// gets a new one when no earlier lock can be left.
struct redlock_member final : redlock {
    using redlock::redlock;

    static constexpr auto take_at_member = R"(
if redis.call('exists', KEYS[2]) == 0 then return 'no member' end
return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]))";

    bool take(std::size_t server) override {
        return send_to(server, "EVAL", take_at_member, 2, key, "member", owner, ttl) == "OK";
    }
};

// Each node returns a number greater than all that it returned or stored before, and not smaller than its
// clock. The greatest is the fence, and more than half of the nodes store it before anybody writes.
struct redlock_fenced final : redlock {
    using redlock::redlock;

    static constexpr auto take_a_number = R"(
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local now = redis.call('time')
local number = math.max((redis.call('get', KEYS[2]) or 0) + 1, now[1] * 1000000 + now[2])
redis.call('set', KEYS[2], string.format('%.0f', number))
return number)";

    static constexpr auto store_it = R"(
if (redis.call('get', KEYS[1]) or 0) + 0 < ARGV[1] + 0 then redis.call('set', KEYS[1], ARGV[1]) end
return 1)";

    bool take(std::size_t server) override {
        const auto number = send_to(server, "EVAL", take_a_number, 2, key, "number", owner, ttl).number();
        number_ = std::max(number_, number);
        return number > 0;
    }

    bool in_time(boot_clock::time_point begun) override {
        std::size_t stored = 0;
        for (std::size_t i = 0; i < servers(); ++i) {
            try {
                stored += send_to(i, "EVAL", store_it, 1, "number", number_) == 1 ? 1 : 0;
            } catch (const command_failed&) {
            }
        }
        return stored > servers() / 2 && redlock::in_time(begun);
    }

    bool write() override {
        return send_to_resource("EVAL", redis_fenced_set, 2, "resource", "resource:fence", number_,
                                "written by " + own_part().name) == 1;
    }

    std::int64_t number_ = 0;
};

}  // namespace

std::unique_ptr<scheme> make_redlock(performer& by) { return std::make_unique<redlock>(by); }
std::unique_ptr<scheme> make_redlock_unchecked(performer& by) {
    return std::make_unique<redlock_unchecked>(by);
}
std::unique_ptr<scheme> make_redlock_member(performer& by) { return std::make_unique<redlock_member>(by); }
std::unique_ptr<scheme> make_redlock_fenced(performer& by) { return std::make_unique<redlock_fenced>(by); }

}  // namespace holdfast::lab
