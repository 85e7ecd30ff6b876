// String counter with Lua: the same "owner:count", each operation one script.
#include "lab/schemes/schemes.hpp"

namespace holdfast::lab {

namespace {

constexpr auto try_lock = R"(
local lockValue = redis.call('get', KEYS[1])
if lockValue == false then
    redis.call('psetex', KEYS[1], ARGV[2], ARGV[1] .. ':1')
    return 1
end
local separator = string.find(lockValue, ':')
local threadId = string.sub(lockValue, 1, separator - 1)
local count = tonumber(string.sub(lockValue, separator + 1))
if threadId == ARGV[1] then
    redis.call('psetex', KEYS[1], ARGV[2], ARGV[1] .. ':' .. (count + 1))
    return 1
end
return 0)";

constexpr auto unlock_script = R"(
local lockValue = redis.call('get', KEYS[1])
if lockValue ~= false then
    local separator = string.find(lockValue, ':')
    local threadId = string.sub(lockValue, 1, separator - 1)
    local count = tonumber(string.sub(lockValue, separator + 1))
    if threadId == ARGV[1] then
        if count > 1 then
            redis.call('set', KEYS[1], ARGV[1] .. ':' .. (count - 1))
            redis.call('pexpire', KEYS[1], ARGV[2])
        else
            redis.call('del', KEYS[1])
        end
        return 1
    end
end
return 0)";

struct counter_lua final : scheme {
    using scheme::scheme;

    void lock() override {
        while (send("EVAL", try_lock, 1, key, owner, ttl) == 0) stop("before_retry");
    }

    void unlock() override { send("EVAL", unlock_script, 1, key, owner, ttl); }
};

}  // namespace

std::unique_ptr<scheme> make_counter_lua(performer& by) { return std::make_unique<counter_lua>(by); }

}  // namespace holdfast::lab
