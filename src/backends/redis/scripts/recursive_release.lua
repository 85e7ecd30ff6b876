-- Releases a Redisson RLock, with all holds of its owner, and notifies the waiters.
-- KEYS: N the lock       ARGV: owner, the lock's channel, PUBLISH or SPUBLISH
-- Returns -1: not held by the owner, else the number of receivers.
-- Also made: recursive_release_evicting, by evicting.lua.in.
local N, call = KEYS[1], redis.call
if call('HEXISTS', N, ARGV[1]) == 0 then return -1 end
call('DEL', N)
local receivers = redis.pcall(ARGV[3], ARGV[2], '0')
return type(receivers) == 'number' and receivers or 0
